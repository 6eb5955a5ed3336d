/**
 * What the tools of this folder need beyond the context of a call. A file whose tool needs it exports a function of it
 * as `default`; a file whose tool does not exports the definition itself.
 */

import type { FileGuard } from '../command-policy/file-guard.ts'
import type { CommandPolicy } from '../command-policy/policy.ts'

export interface BuiltInToolDeps {
  readonly commandPolicy: CommandPolicy
  readonly fileGuard: FileGuard
  /** What `~` means in the paths of file tools. */
  readonly userHome: string
  /** The PATH that helper programs such as `rg` are looked for on. */
  readonly searchPath: string
  readonly terminal: TerminalLimits
  /** Sub-agents of a turn at the same time. */
  readonly maxChildren: number
}

export interface TerminalLimits {
  /** For a command that asks for no other. */
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  readonly maxOutputBytes: number
}
