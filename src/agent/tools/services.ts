/**
 * What the built-in tools need of the gateway beyond the context of a call. The list of the tools gives each one its part.
 */

import type { ScriptLimits } from '../code/run-script.ts'
import type { FileGuard } from '../command-policy/file-guard.ts'
import type { CommandPolicy } from '../command-policy/policy.ts'
import type { Skills } from '../skills/skills.ts'
import type { MediaMaker } from './sets/media.ts'

export interface ToolServices {
  readonly commandPolicy: CommandPolicy
  readonly fileGuard: FileGuard
  /** Commands do not run on this machine, so that nothing is known of the programs there. */
  readonly worksElsewhere?: boolean
  /** The PATH for helper programs such as `python3`. */
  readonly searchPath: string
  readonly terminal: TerminalLimits
  /** The limits of a script of `execute_code`. */
  readonly scripts: Pick<ScriptLimits, 'timeoutMs' | 'maxCalls'>
  /** Loads the skills. Absent where there are none. */
  readonly skills?: (() => Promise<Skills>) | undefined
  /** Whether a search service is configured. Absent: none is. */
  canSearchWeb?(): boolean
  /** Whether this gateway runs scheduled jobs. Absent: it does not. */
  readonly canSchedule?: boolean
  /** Whether a model that reads pictures is configured. Absent: none is. */
  canSeePictures?(): Promise<boolean>
  /** Maximum number of concurrent sub-agents of a turn. */
  readonly maxChildren: number
  /** Whether sub-agents may start sub-agents. Absent: they may not. */
  readonly mayNest?: boolean
  /** Where a browser is installed or configured. */
  readonly browser?: { readonly isOptional: boolean } | undefined
  /** Resolves with undefined where nothing speaks or draws. */
  media?(): Promise<MediaMaker | undefined>
}

export interface TerminalLimits {
  /** The default for a command without a timeout. */
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  readonly maxOutputBytes: number
}
