/**
 * What reading a payload depends on beside the payload: who the bot is, and what counts in groups.
 */
import type { GroupRules } from '../options.ts'

export interface NormalizeContext {
  readonly platform: string
  readonly account: string
  readonly botId: string
  /** Without the @. */
  readonly username: string
  readonly groups: GroupRules
}
