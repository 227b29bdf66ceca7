//! SPEC 13: catalogue 1.1.

mod answers;
mod compiles;
mod ids;
mod jobs_in_doubt;
mod repeated_calls;
mod repeated_jobs;
