/**
 * What one look of `hermes doctor` found.
 */
import type { CliContext } from '../context.ts'
import type { Daemon } from '../daemon.ts'
import type { Settings } from '../settings.ts'

export interface CheckResult {
  /** `ok`: nothing to do. `note`: works, but worth knowing. `problem`: does not work until it is mended. */
  readonly state: 'ok' | 'note' | 'problem'
  /** What was looked at, in one or two words. */
  readonly subject: string
  /** What was found, in plain words. No secret. */
  readonly text: string
  /** What to do about it. */
  readonly advice?: string
}

/** What the checks look at. */
export interface CheckContext {
  readonly context: CliContext
  readonly settings: Settings
  /** Undefined when none runs. */
  readonly daemon: Daemon | undefined
}

/** Finds things out and changes nothing. Should not throw; what it throws is shown as a problem. */
export type Check = (patient: CheckContext) => readonly CheckResult[] | Promise<readonly CheckResult[]>

export function ok(subject: string, text: string): CheckResult {
  return { state: 'ok', subject, text }
}

export function note(subject: string, text: string, advice?: string): CheckResult {
  return { state: 'note', subject, text, ...(advice === undefined ? {} : { advice }) }
}

export function problem(subject: string, text: string, advice: string): CheckResult {
  return { state: 'problem', subject, text, advice }
}
