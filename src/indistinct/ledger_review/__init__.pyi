from indistinct.ledger_review.register_pages import review_page as review_page
from indistinct.ledger_review.register_pages import write_register as write_register
from indistinct.ledger_review.review_findings import EntryReview as EntryReview
from indistinct.ledger_review.review_findings import LedgerReview as LedgerReview
from indistinct.ledger_review.review_findings import Notice as Notice
from indistinct.ledger_review.reviewing import review_ledger as review_ledger
