/**
 * What the memory of plugins uses of the gateway.
 */
import type { Fields } from '../../middleware/contract.ts'
import type { CallbackRuntime } from '../hooks/callback.ts'
import type { PluginTools } from '../plugin-tools.ts'

export interface ProviderMemoryDeps extends CallbackRuntime {
  /** `memory.provider`: the name of a provider, the id of its plugin, or the name of the plugin folder. */
  configuredProvider(): string | undefined
  /** `memory.group_memory` */
  groupMemory(): 'none' | 'notes' | 'all'
  /** `$HERMES_HOME`, absolute. */
  readonly home: string
  readonly tools: Pick<PluginTools, 'register'>
  /** The messages of a session in the format of OpenAI. Rejects `store/…`. */
  readMessages(sessionId: string): Promise<readonly Fields[]>
  /** Takes secrets of the gateway out of a text. */
  redact(text: string): string
}
