//! The same behaviours with mock-unity and with the real plugin, against the real server. EditorHost runs the plugin on Mono.
//!
//! Every frame that an Editor sends in these tests is checked against docs/wire.schema.json. Without EditorHost its half is
//! skipped, and a line says why. `EDITOR_HOST=path` names the program to test.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod books;
mod cancels;
mod catalogue;
mod console;
mod demo;
mod handshake;
mod jobs;
mod latency;
mod load;
mod reload;
mod waiting;
mod wire;

use std::sync::RwLock;

use harness::editor::Program;
use harness::editor_host;
use libtest_mimic::{Arguments, Trial};

/// A behaviour that both programs have.
type Scenario = fn(Program);

/// Names of tests are those of their functions.
macro_rules! named {
    ($kind:ty; $($module:ident::$name:ident,)*) => {
        &[$((stringify!($name), $module::$name as $kind)),*]
    };
}

const SCENARIOS: &[(&str, Scenario)] = named![Scenario;
    handshake::the_hello_names_the_editor_the_project_and_the_attempt,
    handshake::a_tool_that_the_editor_does_not_offer_is_never_sent,
    handshake::an_editor_shows_the_token_of_its_user_if_the_server_asks_for_it,
    handshake::an_editor_without_the_token_stays_outside_and_says_why,
    handshake::an_editor_of_another_project_is_refused_and_gets_in_with_the_right_one,
    handshake::a_second_editor_is_refused_and_the_first_keeps_its_place,
    handshake::an_editor_finds_the_next_server_on_the_port,
    console::the_console_is_filtered_by_type_text_and_number,
    console::a_cursor_shows_what_is_new_over_a_reload_and_a_cleared_console,
    console::a_cursor_of_an_earlier_editor_is_lost,
    console::compile_errors_are_in_the_console_and_the_domain_stays,
    console::answers_are_cut_to_the_limit_of_the_server,
    waiting::a_call_waits_through_a_compile_and_a_reload,
    waiting::a_call_during_a_reload_runs_after_it,
    waiting::the_answer_of_a_call_comes_over_the_next_connection,
    waiting::a_frozen_editor_answers_pings_and_the_call_afterwards,
    waiting::a_request_that_a_restarted_editor_forgot_is_unknown,
    jobs::a_test_run_goes_on_over_a_compile_and_a_reload,
    jobs::a_test_run_goes_on_over_a_drop,
    jobs::a_queued_job_that_is_cancelled_is_never_sent,
    jobs::a_submitted_job_is_cancelled_as_soon_as_the_editor_can,
    jobs::a_running_job_is_cancelled_and_the_next_run_works,
    jobs::a_job_that_has_ended_cannot_be_cancelled,
    jobs::tests_are_chosen_by_mode_and_filter,
    cancels::a_running_call_that_is_cancelled_keeps_the_lane,
    cancels::a_waiting_call_that_is_cancelled_never_reaches_unity,
    cancels::a_call_that_is_cancelled_while_unity_is_away_never_reaches_it,
    cancels::the_job_of_a_caller_who_leaves_is_cancelled_in_unity,
    catalogue::each_tool_of_catalogue_1_1_answers,
    catalogue::a_compile_over_a_reload_and_one_that_fails_are_told,
    catalogue::a_repeated_id_runs_once_over_a_reload_and_a_killed_server,
];

/// What only the real plugin does.
const OF_THE_PLUGIN: &[(&str, fn())] = named![fn();
    reload::a_request_that_has_not_started_is_answered_after_the_reload,
    reload::an_editor_without_focus_gets_through_compiles_and_reloads,
    reload::a_play_mode_run_survives_its_own_domain_reload,
    demo::the_demo_runs_with_the_plugin_and_shows_its_books,
    catalogue::an_agent_edits_compiles_reads_errors_fixes_and_tests,
];

/// These need the machine for themselves.
const ALONE: &[(&str, fn())] = named![fn();
    load::twenty_five_reloads_under_load_lose_nothing_and_double_nothing,
    load::reloads_and_killed_servers_run_nothing_twice_and_promise_nothing_false,
    catalogue::the_plugin_passes_the_conformance_command,
    latency::a_woken_plugin_answers_within_two_and_a_half_times_the_time_of_the_mock,
];

const OF_THE_CHECK: &[(&str, fn())] = named![fn();
    wire::every_message_of_the_protocol_fits_the_schema,
    wire::frames_that_are_wrong_do_not_fit,
    wire::a_keyword_that_the_check_does_not_know_is_an_error,
];

static MACHINE: RwLock<()> = RwLock::new(());

fn main() {
    let mut trials = Vec::new();
    for (name, test) in OF_THE_CHECK {
        trials.push(trial("wire", name, false, test));
    }
    add_scenarios(&mut trials, Program::MockUnity);
    match editor_host::find() {
        Err(reason) => println!("The tests with the Unity plugin are skipped: {reason}."),
        Ok(_) => {
            add_scenarios(&mut trials, Program::EditorHost);
            for (name, test) in OF_THE_PLUGIN {
                trials.push(trial(Program::EditorHost.name(), name, false, test));
            }
            for (name, test) in ALONE {
                trials.push(trial(Program::EditorHost.name(), name, true, test));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn add_scenarios(trials: &mut Vec<Trial>, program: Program) {
    for (name, scenario) in SCENARIOS {
        trials.push(trial(program.name(), name, false, move || scenario(program)));
    }
}

fn trial(topic: &str, name: &str, is_alone: bool, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(format!("{topic}::{name}"), move || {
        // A test that failed has poisoned nothing: the lock guards no data.
        let (_alone, _together) = if is_alone {
            (Some(MACHINE.write().unwrap_or_else(|poisoned| poisoned.into_inner())), None)
        } else {
            (None, Some(MACHINE.read().unwrap_or_else(|poisoned| poisoned.into_inner())))
        };
        test();
        Ok(())
    })
}
