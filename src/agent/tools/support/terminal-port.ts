/**
 * What the tools that run commands need of the gateway.
 */
import type { Logger } from '../../../lib/log.ts'
import type { CommandPolicy } from '../../command-policy/policy.ts'
import type { CommandWatches } from '../../environments/command-watches.ts'
import type { BeforeChange, ToolContext } from '../tool.ts'

export interface TerminalPort {
  readonly commandPolicy: CommandPolicy
  readonly terminal: TerminalLimits
  /** Absent where no checkpoints are taken. */
  readonly beforeChange?: BeforeChange | undefined
  /** Reports news of background commands to the conversation. Undefined where no message can come later. */
  watchesOf?(call: ToolContext): CommandWatches | undefined
  readonly log: Logger
}

export interface TerminalLimits {
  /** The default for a command without a timeout. */
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  readonly maxOutputBytes: number
}
