/**
 * Background tasks: agent work that no chat waits for (contract §3.12). A task is an event: it is on disk before its id is
 * returned, and it survives a crash. It has its own session, and its reply goes to the target of the task. Tasks emit no
 * gateway events, so that a hook that starts a task is not called by it again.
 */

import type { EventResults, Inbox } from '../../inbox/inbox.ts'
import { findEventPayload, listOpenEventsOfPlatform } from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { brand, sessionIdAt } from '../../lib/ids.ts'
import type { Authority } from '../../message/authority.ts'
import type { Attachment, BackgroundDelegation, BackgroundTask, MessageEvent } from '../../message/event.ts'
import type { EventKey } from '../../message/ids.ts'
import { backgroundPlatform, type Target } from '../../message/source.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import type { Runtime } from '../../store/runtime.ts'

export interface TaskRequest extends Pick<BackgroundTask, 'deliver' | 'delegation'> {
  readonly prompt: string
  /** The user of the task's source. */
  readonly requester: { readonly id: string; readonly name: string }
  /** The authority of the person who caused the task. */
  readonly authority: Authority
  readonly maxIterations?: number | undefined
  readonly route?: string | undefined
  /** A person asked for it in the chat of `deliver`. */
  readonly isRequested?: true | undefined
  /** The model of the conversation, as it is stored there. */
  readonly model?: string | undefined
  /** Files that are stored already. */
  readonly attachments?: readonly Attachment[] | undefined
  /** A second request with this key is the first one, over crashes, too. */
  readonly key?: string | undefined
}

/** A task that has not ended. It may be queued. */
export interface OpenTask {
  readonly id: string
  readonly by: string
  /** Since it was requested. */
  readonly ageMs: number
}

/** Extends `OpenTask` for those who may see what was asked. */
export interface OpenTaskDetails extends OpenTask {
  /** The number of its event. */
  readonly seq: number
  /** The id of the requester. */
  readonly requesterId: string
  /** The chat of the reply; null for none. */
  readonly deliver: Target | null
  readonly prompt: string
  /** The authority of the person who caused it. */
  readonly authority?: Authority
  /** The delegation to a sub-agent. */
  readonly delegation?: BackgroundDelegation
}

export interface BackgroundTasks {
  /** Resolves with the id of the task once it is on disk. Rejects as the inbox: `inbox/too-large`, `http/starting`, `store/...`. */
  start(order: TaskRequest): Promise<string>
  /** Tracks the tasks of the last process. Rejects `store/...`. */
  recover(): Promise<void>
  open(): readonly OpenTask[]
  details(): readonly OpenTaskDetails[]
}

export function createBackgroundTasks(
  { store, clock, log }: Pick<Runtime, 'store' | 'clock' | 'log'>,
  inbox: Pick<Inbox, 'accept'>,
  turnResults: Pick<EventResults, 'wait'>,
): BackgroundTasks {
  const open = new Map<string, Omit<OpenTaskDetails, 'id' | 'ageMs'> & { readonly since: number }>()
  /** A task is tracked as long as this process lives. */
  const never = new AbortController().signal

  function trackTask(seq: number, { source, timestamp, task, text, authority }: MessageEvent): void {
    if (task === undefined) return
    const { id, deliver, delegation } = task
    const { userName = '', userId: requesterId = '' } = source
    const details = { by: toLabel(userName, 80), since: timestamp, seq, requesterId, deliver, prompt: text }
    open.set(id, { ...details, ...(authority && { authority }), ...(delegation && { delegation }) })
    turnResults
      .wait(seq, never)
      .then(
        (result) => logResult(id, result),
        (error: unknown) =>
          log.warn(
            { event: 'task.result_unknown', task: id, err: error },
            'the result of a background task is unknown',
          ),
      )
      .finally(() => open.delete(id))
  }

  function logResult(task: string, result: TurnResult): void {
    const { status: state } = result
    const fields = { event: 'task.ended', task, state }
    log[state === 'done' ? 'info' : 'warn'](fields, `background task ended: ${previewOf(result)}`)
  }

  /** The task that a request before a crash has started. */
  async function idOf(seq: number): Promise<string> {
    const payload = await store.run(() => findEventPayload(seq))
    return (payload === undefined ? undefined : parseStoredEvent(payload).task?.id) ?? ''
  }

  return {
    async start(order) {
      const now = clock()
      const event = taskEvent(order, now)
      const { id } = event.task
      const accepted = await inbox.accept(event, [brand<EventKey>(`background:${order.key ?? id}`)])
      if (accepted.status === 'duplicate' && order.key !== undefined) return await idOf(accepted.seq)
      if (accepted.status !== 'accepted') throw new Error(`the background task ${id} was ${accepted.status}`)
      log.info(
        { event: 'task.started', task: id, by: order.requester.name, to: order.deliver?.platform ?? '' },
        'background task started',
      )
      trackTask(accepted.seq, event)
      return id
    },

    async recover() {
      for (const { seq, payload } of await store.run(() => listOpenEventsOfPlatform(backgroundPlatform)))
        trackTask(seq, parseStoredEvent(payload))
    },

    open: () => [...open].map(([id, { by, since }]) => ({ id, by, ageMs: clock() - since })),
    details: () => [...open].map(([id, { since, ...task }]) => ({ id, ...task, ageMs: clock() - since })),
  }
}

function taskEvent(order: TaskRequest, now: number): MessageEvent & { readonly task: BackgroundTask } {
  const id = `bg_${sessionIdAt(now).slice('YYYYMMDD_'.length)}`
  const {
    deliver,
    maxIterations,
    prompt,
    requester,
    route = backgroundPlatform,
    isRequested,
    model,
    delegation,
  } = order
  const { attachments = [] } = order
  return {
    source: {
      platform: backgroundPlatform,
      account: 'default',
      chatId: id,
      chatType: 'dm',
      userId: requester.id,
      userName: requester.name,
    },
    text: prompt,
    messageType: 'text',
    timestamp: now,
    internal: true,
    authority: order.authority,
    allowGatewayControl: false,
    ...(attachments.length === 0 ? {} : { attachments }),
    task: {
      ...{ id, deliver, route },
      maxIterations,
      isRequested,
      model,
      delegation,
    },
  }
}

/** 200 characters, as the contract has it (§1.6). */
function previewOf({ text }: TurnResult): string {
  return Array.from(text.slice(0, 400)).slice(0, 200).join('')
}
