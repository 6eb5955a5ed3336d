/**
 * The contract of a rule: it receives one simple command, expanded, with its context, and may return a match.
 */
import type { Field } from './field.ts'
import type { ProtectedPaths } from './protected-paths.ts'

/** The command never runs; no approval allows it. */
export interface Forbidden {
  readonly decision: 'forbidden'
  /** Short, stable identifier: `remove-system`. */
  readonly rule: string
  /** Completes the sentence "this command …". */
  readonly reason: string
}

/** The command may run after a user has approved it. */
export interface NeedsApproval {
  readonly decision: 'needs-approval'
  readonly rule: string
  readonly reason: string
}

export type RuleMatch = Forbidden | NeedsApproval
export type PolicyDecision = { readonly decision: 'allow' } | RuleMatch

export const forbid = (rule: string, reason: string): Forbidden => ({ decision: 'forbidden', rule, reason })
export const requireApproval = (rule: string, reason: string): NeedsApproval => ({
  decision: 'needs-approval',
  rule,
  reason,
})

/** Where a command reads its standard input from. `text` is undefined when it is not known before the command runs. */
export type CommandInput =
  /** No redirection: the command gets empty input. */
  | { readonly kind: 'none' }
  /** A background command: the agent may write to its input later. */
  | { readonly kind: 'open' }
  | { readonly kind: 'file'; readonly field: Field }
  | { readonly kind: 'text'; readonly text: string | undefined }
  | { readonly kind: 'pipe'; readonly text: string | undefined }

export interface Redirection {
  readonly operator: string
  readonly target: Field
}

export interface SimpleCommand {
  /** Without the directory: `rm` for `/bin/rm`. */
  readonly name: string
  readonly args: readonly Field[]
  readonly input: CommandInput
  /** The working directory, absolute; undefined when it is not known. */
  readonly cwd: string | undefined
  /** Whether it runs in the background (`&`). */
  readonly background: boolean
  /** Names of the commands that run this one, outermost first: `sudo`, `nohup`, `xargs`. */
  readonly wrappers: readonly string[]
}

export type CommandRule = (command: SimpleCommand, paths: ProtectedPaths) => RuleMatch | undefined
