/**
 * What an adapter may cause besides messages, for platforms whose events come from programs.
 */
import type { Target } from '../message/source.ts'

/** All functions may reject `store/...`. */
export interface PlatformAutomation {
  /** Whether the HTTP server of the gateway is reachable from this machine only. */
  listensLocally(): boolean
  /**
   * The chats that names mean (`telegram`, `telegram:<chat_id>`, `all` for each home channel), each once; none for `local`. A name
   * that means nothing is a problem of all. The problem is for the operator.
   */
  resolveTargets(
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly targets: readonly Target[] } | { readonly problem: string }>
  /** Sends a text to a chat. A second one with the same key sends nothing. */
  send(target: Target, message: { readonly key: string; readonly text: string }): Promise<void>
  /** Runs a file below `scripts/` of the home with a text as its input, within two minutes. A failure is a result, too. */
  runScript(
    name: string,
    input: string,
    signal: AbortSignal,
  ): Promise<{ readonly ok: boolean; readonly output: string }>
  /**
   * Lets a scheduled job run now, by its id or name, and ends stored deliveries in the same transaction: an event leads to one run.
   * While the job runs, its next run waits, and gets all events that come meanwhile.
   */
  runJob(
    name: string,
    event: {
      /** What the agent is told of the event, besides the prompt of the job. It is data. */
      readonly text: string
      readonly deliveries: readonly string[]
    },
  ): Promise<'started' | 'paused' | { readonly problem: string }>
  /** The text of skills for the model. */
  readSkills(names: readonly string[]): Promise<string>
  readonly deliveries: PlatformDeliveries
}

/** Events that the adapter has stored and works on later, also after a crash. */
export interface PlatformDeliveries {
  /** Resolves when it is on disk. `keys`: further ones are aliases for deduplication. */
  store(delivery: {
    readonly keys: readonly [string, ...string[]]
    readonly group: string
    readonly body: string
  }): Promise<'accepted' | 'duplicate'>
  /** Lists the items that are not done, the oldest first. */
  open(): Promise<readonly { readonly key: string; readonly group: string; readonly receivedAt: number }[]>
  /** Undefined when it is done. */
  read(key: string): Promise<string | undefined>
  done(keys: readonly string[]): Promise<void>
}
