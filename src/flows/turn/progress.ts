/**
 * What people see of a turn while it runs: typing, the growing draft, the tools at work. Nothing of it is stored, and
 * nothing here may delay or break the turn.
 */
import type { ProgressListener } from '../../agent/loop/journal.ts'
import { linkAbortSignal } from '../../lib/linked-signal.ts'
import type { HookEventListener } from '../../message/hook-events.ts'
import { type Target, targetOf } from '../../message/source.ts'
import type { TurnStatus } from '../../message/turn-result.ts'
import type { DraftAddress, Outbox } from '../../outbox/outbox.ts'
import type { TurnActivity } from '../../platforms/adapter.ts'
import type { Turn } from './journal.ts'

export interface TurnProgressDeps {
  readonly outbox: Outbox
  readonly emit: HookEventListener
  /** Whether the platform of this turn has its gateway events emitted. */
  emitsEvents(turn: Turn): boolean
  /** Tells a platform what the agent does; a platform without that ability ignores it. */
  publishActivity(target: Target, activity: TurnActivity): void
}

export interface TurnProgress {
  readonly listener: ProgressListener
  /** What a person has read of the answer so far. */
  visibleText(): string
  /** Ends the draft; its address is where the final answer goes. Null when there is none. */
  closeDraft(): Promise<DraftAddress | null>
  publishEnd(status: TurnStatus): void
  /** Ends typing. May be called twice. */
  close(): void
}

export function startTurnProgress(deps: TurnProgressDeps, turn: Turn, signal: AbortSignal): TurnProgress {
  const { outbox, emit } = deps
  const { source, messageId } = turn.event
  const target = targetOf(source)
  const turnId = turn.id
  const typing = linkAbortSignal(signal)
  const draft = outbox.openDraft({
    target,
    turnId,
    resumed: turn.resumed,
    ...(messageId === undefined ? {} : { replyTo: messageId }),
  })
  const answers = messageId === undefined ? {} : { messageId }
  let text = ''

  outbox.showTyping(target, typing.signal)
  deps.publishActivity(target, { kind: 'turn-started', turnId, ...answers })

  return {
    listener: {
      onText(fullText) {
        text = fullText
        draft?.update(fullText)
      },
      onToolStart: (call, label) =>
        deps.publishActivity(target, { kind: 'tool-started', turnId, callId: call.id, tool: call.name, label }),
      onToolEnd: (call, ok, summary) =>
        deps.publishActivity(target, { kind: 'tool-ended', turnId, callId: call.id, tool: call.name, ok, summary }),
      onIteration(iteration, tools) {
        if (!deps.emitsEvents(turn)) return
        emit('agent:step', {
          platform: source.platform,
          user_id: source.userId ?? '',
          session_id: turn.sessionId,
          iteration,
          tool_names: tools.map((tool) => tool.name),
          tools: [...tools],
        })
      },
    },
    visibleText: () => text,
    closeDraft: async () => (draft === null ? null : await draft.close()),
    publishEnd: (status) => deps.publishActivity(target, { kind: 'turn-ended', turnId, status, ...answers }),
    close() {
      typing.release()
      // Without a reason an error with a stack would be made for each turn.
      typing.abort('the turn has ended')
    },
  }
}
