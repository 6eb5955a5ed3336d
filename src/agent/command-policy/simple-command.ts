/**
 * One simple command of a script, expanded, with what surrounds it: what the rules look at.
 */
import type { Field } from './field.ts'
import type { ProtectedPaths } from './protected-paths.ts'
import type { RuleMatch } from './rule-match.ts'

/** Where a command reads from. `text` is what it reads, where that can be told. */
export type CommandInput =
  /** Nothing was said: the empty input of the terminal. */
  | { readonly kind: 'none' }
  /** Somebody may write to it later. */
  | { readonly kind: 'open' }
  | { readonly kind: 'file'; readonly field: Field }
  | { readonly kind: 'text'; readonly text: string | undefined }
  | { readonly kind: 'pipe'; readonly text: string | undefined }

export interface Redirection {
  readonly operator: string
  readonly target: Field
}

export interface SimpleCommand {
  /** Without its folder: `rm` for `/bin/rm`. */
  readonly name: string
  readonly args: readonly Field[]
  readonly input: CommandInput
  readonly cwd: string | undefined
  /** Ends with `&`. */
  readonly background: boolean
  /** Commands that run this one: `sudo`, `nohup`, `xargs`. */
  readonly wrappers: readonly string[]
}

export type CommandRule = (call: SimpleCommand, places: ProtectedPaths) => RuleMatch | undefined
