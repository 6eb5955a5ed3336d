/**
 * What `/background`, `/agents` and `/stop <task>` need of the gateway. Loaded with the first of these commands.
 */
import type { CommandContext } from './command.ts'

/** The person who gave the command, and the chat. */
type Requester = Pick<CommandContext, 'source' | 'authority' | 'message'>

export interface TaskServices {
  /** Resolves once the task is on disk. Rejects as the inbox. */
  start(
    by: Requester,
    prompt: string,
  ): Promise<
    { readonly status: 'started'; readonly id: string } | { readonly status: 'too-many'; readonly limit: number }
  >
  /** The tasks and sub-agents that have not ended: one's own; for an owner in a private chat all. */
  list(by: Requester): readonly RequestedTask[]
  /** False for a task that has ended, and for one of another person unless an owner stops it. */
  stop(by: Requester, id: string): Promise<boolean>
  /** Takes known secrets out of a text, as replies do. */
  withhold(text: string): string
}

export interface RequestedTask {
  /** `bg_…`, or `sub_…` for a sub-agent that its parent waits for. */
  readonly id: string
  /** The person or hook that requested it. */
  readonly by: string
  readonly requesterId: string
  readonly ageMs: number
  readonly prompt: string
  /** Present for a sub-agent. */
  readonly subagent?: {
    readonly depth: number
    /** The tokens of its model calls and of its sub-agents, so far. */
    readonly tokens: number
    /** The tool that runs now. */
    readonly tool?: string | undefined
  }
}
