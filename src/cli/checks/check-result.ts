/**
 * The result of a check of `hermes doctor`.
 */
import { type HermesError, isHermesError } from '../../lib/errors.ts'
import type { CliContext } from '../kit/context.ts'
import type { Daemon } from '../kit/daemon.ts'
import type { Settings } from '../kit/settings.ts'

export interface CheckResult {
  /** `ok`: nothing to do. `note`: works, with a remark. `problem`: does not work until it is fixed. */
  readonly state: 'ok' | 'note' | 'problem'
  /** The subject of the check, in one or two words. */
  readonly subject: string
  /** The finding, without secrets. */
  readonly text: string
  /** How to fix it. */
  readonly advice?: string | undefined
  /** The error code, for scripts. */
  readonly code?: string
  /** What `hermes doctor --fix` can do about it. */
  readonly fix?: Fix | undefined
}

export interface Fix {
  /** Completes the sentence "doctor will ...". */
  readonly what: string
  /** May be called again. Throws the system's error or a `HermesError`. */
  apply(): void
}

/** The input of the checks. */
export interface CheckContext {
  readonly context: CliContext
  readonly settings: Settings
  /** `undefined` when no daemon is running. */
  readonly daemon: Daemon | undefined
  /** The network must not be used. */
  readonly offline: boolean
}

/** Changes nothing; only a fix does. An exception is shown as a problem. */
export type Check = (checkContext: CheckContext) => readonly CheckResult[] | Promise<readonly CheckResult[]>

export function ok(subject: string, text: string): CheckResult {
  return { state: 'ok', subject, text }
}

export function note(subject: string, text: string, advice?: string): CheckResult {
  return { state: 'note', subject, text, advice }
}

/** What a check says when the running gateway answers as another version does. Throws any other error. */
export function ofAnotherVersion(error: unknown): CheckResult[] {
  if (!isHermesError(error, 'cli/incompatible-response')) throw error
  return [note('Gateway', 'the running gateway is of another version', '`hermes restart` starts this one.')]
}

/** With the code of the error after its message. */
export function problemFromError(subject: string, error: HermesError): CheckResult {
  return { ...problem(subject, `${error.message} (${error.code})`, error.hint), code: error.code }
}

export function problem(subject: string, text: string, advice: string): CheckResult {
  return { state: 'problem', subject, text, advice }
}
