/**
 * The message with the result of a sub-agent in the background. It is stored in the transaction that ends the sub-agent, once
 * for each task, and wakes the conversation that has asked.
 */
import type { AgentConfig } from '../../agent/config.ts'
import { checkedResult, createOutputCheck } from '../../agent/loop/output-schema.ts'
import { truncateMiddle } from '../../agent/support/result-json.ts'
import type { SubagentResult } from '../../agent/support/subagent-result.ts'
import { acceptEvent } from '../../inbox/queries.ts'
import { serializeEvent } from '../../inbox/stored-event.ts'
import { brand } from '../../lib/ids.ts'
import type { Logger } from '../../lib/log.ts'
import type { Authority } from '../../message/authority.ts'
import type { BackgroundDelegation, MessageEvent, SubagentReport } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import { combine, type TransactionPart } from '../../store/query.ts'
import type { Store } from '../../store/store.ts'
import type { AgentServices } from '../tools/agent-services.ts'
import type { TurnRunResult } from '../turn/output.ts'
import type { BackgroundTasks } from './background-tasks.ts'

/** What sub-agents in the background need of the gateway. */
export interface DelegationDeps {
  readonly store: Store
  readonly agentServices: Pick<AgentServices, 'models' | 'tools' | 'environments'>
  /** Undefined in a process that does not wait for what goes on in the background. */
  readonly tasks: Pick<BackgroundTasks, 'start' | 'details'> | undefined
  /** Whether the person may still talk to the agent in this chat. */
  hasAccess(event: Pick<MessageEvent, 'source'>): boolean
  /** Several people write in the session of this source. */
  isShared(source: SessionSource): boolean
  /** Takes the gateway's own secrets out of a text. */
  withhold(text: string): string
  wake(key: SessionKey): void
  readonly settings: () => Pick<AgentConfig, 'agent' | 'delegation'> & {
    readonly inbox: { readonly max_message_kb: number }
  }
  readonly clock: () => number
  readonly log: Logger
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}

type HandIn = Omit<DelegationDeps, 'store' | 'agentServices' | 'tasks'>

/** What of a task its conversation is told. */
export interface HandedInTask {
  readonly id: string
  readonly delegation: BackgroundDelegation
  readonly authority: Authority
}

export type Outcome = Omit<SubagentResult, 'status'> & Pick<SubagentReport, 'status'>

/** A turn that ended without the agent has no result of its own. */
export function outcomeOf(
  { state, text, errorCode, subagent }: TurnRunResult,
  { outputSchema }: BackgroundDelegation,
): Outcome {
  if (subagent !== undefined) return subagent
  if (state === 'stopped' || state === 'interrupted')
    return { status: 'interrupted', summary: text || 'It was stopped.' }
  if (errorCode === 'inbox/dead-letter')
    return {
      status: 'unknown',
      summary: 'The gateway ended several times while it worked. What it has done is not known. Tell the user.',
    }
  const check = outputSchema === undefined ? undefined : createOutputCheck(outputSchema)
  return { status: state === 'done' ? 'completed' : 'error', summary: text, ...checkedResult(check, text) }
}

/** A person whose access was taken away gets no answer, and none is paid for. */
export function prepareHandIn(deps: HandIn, task: HandedInTask, outcome: Outcome): TransactionPart {
  const { delegation, id } = task
  const key = brand<SessionKey>(delegation.sessionKey)
  if (!deps.hasAccess({ source: delegation.source })) return combine([])
  const event = toEvent(deps, task, outcome)
  const { platform, account, chatId } = event.source
  const payload = serializeEvent(event, deps.settings().inbox)
  const row = { sessionKey: key, lane: 'turn' as const, kind: event.messageType, platform, account, chatId, payload }
  return {
    *write(now) {
      yield* acceptEvent(row, [`delegation-result:${id}`], now)
    },
    committed() {
      deps.failpoint?.('delegation:handed-in')
      deps.log.info(
        { event: 'subagent.handed_in', task: id, session: key, status: outcome.status },
        'the result of a sub-agent in the background was handed in',
      )
      deps.wake(key)
    },
  }
}

/** Bytes that the fields beside the text may need. */
const envelopeBytes = 16_384

function toEvent(deps: HandIn, { id, delegation, authority }: HandedInTask, outcome: Outcome): MessageEvent {
  const { source, goal, round } = delegation
  const { status, summary, schemaValid, output } = outcome
  const text = deps.withhold(output === undefined ? summary : JSON.stringify(output))
  const { agent, inbox } = deps.settings()
  // A character may take six bytes in JSON.
  const maxChars = Math.min(agent.max_tool_result_chars, Math.max(0, inbox.max_message_kb * 1_024 - envelopeBytes) / 6)
  return {
    // Where several people write, each message begins with the name of its writer.
    source: deps.isShared(source) ? { ...source, userName: 'sub-agent' } : source,
    text: truncateMiddle(text, Math.floor(maxChars)),
    messageType: 'text',
    timestamp: deps.clock(),
    internal: true,
    authority,
    allowGatewayControl: false,
    subagentResult: {
      ...{ id, goal: goal.slice(0, 1_000), status, round },
      schemaValid,
    },
  }
}
