"""What the made-up discharge summaries are made of, beside the descriptions of ICD-10-CM itself.

Everything here was written for this package; no sentence comes from a patient's record.
"""

from __future__ import annotations

# ICD-10-CM categories that are often seen together (comorbidity), with words that hint at the whole group.
GROUPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "heart": (("I50", "I25", "I48", "I42", "I21", "I35"), ("furosemide", "metoprolol", "echocardiogram", "troponin")),
    "metabolism": (("E11", "E78", "E66", "E87", "E10"), ("metformin", "insulin", "atorvastatin", "glucose")),
    "kidney": (("N17", "N18", "N39", "I12", "I13"), ("creatinine", "renal ultrasound", "sevelamer", "urinalysis")),
    "lung": (("J44", "J18", "J96", "J45", "J84"), ("albuterol", "prednisone", "chest radiograph", "oxygen")),
    "infection": (("A41", "B95", "B96", "R65", "L03"), ("vancomycin", "cefepime", "blood cultures", "lactate")),
    "liver": (("K70", "K74", "K72", "I85", "B18"), ("lactulose", "spironolactone", "paracentesis", "bilirubin")),
    "bowel": (("K92", "K57", "K56", "K25", "K50"), ("pantoprazole", "endoscopy", "colonoscopy", "hemoglobin")),
    "stroke": (("I63", "G81", "I69", "I65", "R47"), ("aspirin", "clopidogrel", "head imaging", "physical therapy")),
    "mind": (("F32", "F41", "F10", "F31", "F11"), ("sertraline", "lorazepam", "thiamine", "social work")),
    "blood": (("D50", "D63", "D69", "D68", "D70"), ("transfusion", "iron", "platelets", "filgrastim")),
    "tumour": (("C34", "C50", "C18", "C79", "C78"), ("oncology", "chemotherapy", "radiation", "staging scan")),
    "bone": (("M81", "M17", "M54", "M80", "M16"), ("acetaminophen", "calcium", "orthopedics", "radiographs")),
    "inflammation": (("M05", "M32", "M10", "M06", "L40"), ("methotrexate", "hydroxychloroquine", "colchicine", "esr")),
    "nerves": (("G20", "G30", "G40", "G35", "G47"), ("levetiracetam", "levodopa", "donepezil", "neurology")),
    "vessels": (("I70", "I71", "I82", "I26", "I83"), ("heparin", "apixaban", "duplex ultrasound", "warfarin")),
    "wounds": (("L89", "L97", "E08", "I96", "M86"), ("wound care", "debridement", "dressings", "podiatry")),
    "gallbladder": (("K85", "K86", "K80", "K81", "K83"), ("lipase", "surgery", "abdominal ultrasound", "fluids")),
    "urology": (("N40", "N13", "N20", "C61", "R33"), ("tamsulosin", "catheter", "stent", "urology")),
    "eyes": (("H35", "H40", "H25", "H53", "H26"), ("latanoprost", "ophthalmology", "eye drops", "visual fields")),
    "thyroid": (("E03", "E05", "E21", "E27", "E04"), ("levothyroxine", "methimazole", "tsh", "endocrinology")),
}

# Long form (as in ICD-10-CM, lower case) to what a busy author writes.
ABBREVIATIONS = {
    "congestive heart failure": "chf",
    "heart failure": "hf",
    "atrial fibrillation": "afib",
    "myocardial infarction": "mi",
    "atherosclerotic heart disease": "cad",
    "chronic obstructive pulmonary disease": "copd",
    "chronic kidney disease": "ckd",
    "acute kidney failure": "aki",
    "end stage renal disease": "esrd",
    "urinary tract infection": "uti",
    "type 2 diabetes mellitus": "dm2",
    "type 1 diabetes mellitus": "dm1",
    "diabetes mellitus": "dm",
    "hypertension": "htn",
    "hypertensive": "htn",
    "respiratory failure": "resp failure",
    "deep vein thrombosis": "dvt",
    "deep veins": "dvt",
    "pulmonary embolism": "pe",
    "major depressive disorder": "mdd",
    "rheumatoid arthritis": "ra",
    "systemic lupus erythematosus": "sle",
    "osteoarthritis": "oa",
    "cerebral infarction": "cva",
    "malignant neoplasm": "ca",
    "staphylococcus aureus": "staph aureus",
    "multiple sclerosis": "ms",
    "benign prostatic hyperplasia": "bph",
    "pressure ulcer": "decub",
    "with": "w/",
    "without": "w/o",
    "history": "hx",
    "left": "l",
    "right": "r",
    "acute on chronic": "a/c",
}

SYMPTOMS = (
    "shortness of breath", "chest discomfort", "weakness", "abdominal pain", "confusion", "fever and chills",
    "dizziness", "back pain", "a fall at home", "poor appetite", "swelling of the legs", "nausea and vomiting",
    "cough", "fatigue", "a syncopal episode", "difficulty walking", "headache", "decreased urine output",
)  # fmt: skip

PRESENT = (
    "The patient has {}.",
    "Past history is notable for {}.",
    "Known {} for several years, followed as an outpatient.",
    "{}: home regimen was continued.",
    "{}: treated with good response, monitored with serial labs.",
    "Findings were felt to be consistent with {}.",
    "Course was complicated by {}.",
    "Imaging and laboratory results supported {}.",
    "The team attributed the presentation to {}.",
    "Longstanding {} was stable during this admission.",
    "{}: consultants were involved and their advice followed.",
)

ABSENT = (
    "No evidence of {}.",
    "The patient denies any history of {}.",
    "Family history is significant for {} in the mother.",
    "{} was considered but ruled out.",
    "Initial concern for {} was not borne out by further studies.",
    "Father died of complications of {}.",
)

HINTS = (
    "{} was given during the stay.",
    "{} was arranged before discharge.",
    "Received {} on the second hospital day.",
    "{} was reviewed by the primary team.",
)

FILLER = (
    "Vital signs were stable with a temperature of {a}.{b} and a heart rate of {c}.",
    "Blood pressure was {c} over {a} on arrival and improved by the following morning.",
    "The patient was alert and oriented and in no acute distress.",
    "Lungs were clear to auscultation bilaterally on the day of discharge.",
    "Abdomen was soft and non tender with normal bowel sounds.",
    "White count was {b}.{b} on admission and trended down.",
    "The patient tolerated a regular diet and was ambulating with assistance.",
    "Case management met with the family to discuss the discharge plan.",
    "Home medications were reconciled with the pharmacy.",
    "The patient was seen by physical therapy, who recommended home services.",
    "Code status was discussed and remains full code.",
    "Electrolytes were repleted as needed according to the usual protocol.",
    "Follow up with the primary care physician was scheduled within {b} days.",
    "The patient was advised to return for worsening symptoms or fever.",
    "Allergies: no known drug allergies.",
    "The patient lives with a spouse and is independent in most activities.",
    "Does not smoke at present and drinks alcohol only on occasion.",
    "Saturation was {c} percent on room air at the time of discharge.",
    "Electrocardiogram showed sinus rhythm at a rate of {c} without acute changes.",
    "Skin was warm and dry, extremities without edema.",
    "Pain was controlled with scheduled oral medication.",
    "Potassium was {b}.{b} and sodium was 1{a} at discharge.",
    "The remainder of the review of systems was negative.",
    "Prophylaxis with subcutaneous injections was given throughout the stay.",
    "Outpatient records were requested and reviewed by the team.",
)

SECTIONS = ("HISTORY OF PRESENT ILLNESS", "PAST MEDICAL HISTORY", "HOSPITAL COURSE", "DISCHARGE CONDITION AND PLAN")
