/**
 * Background tasks: agent work that no chat waits for (contract §3.12). A task is an event: it is on disk before its id is
 * returned, and it survives a crash. It has its own session, and its reply goes to the target of the task. Tasks emit no
 * gateway events, so that a hook that starts a task is not called by it again.
 */

import type { EventResults } from '../inbox/event-results.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { listOpenEventsOfPlatform } from '../inbox/queries.ts'
import { parseStoredEvent } from '../inbox/stored-event.ts'
import { brand, sessionIdAt } from '../lib/ids.ts'
import type { Logger } from '../lib/log.ts'
import type { Authority } from '../message/authority.ts'
import type { BackgroundTask, MessageEvent } from '../message/event.ts'
import type { EventKey } from '../message/ids.ts'
import { backgroundPlatform } from '../message/source.ts'
import type { TurnResult } from '../message/turn-result.ts'
import { toLabel } from '../message/untrusted-text.ts'
import type { Store } from '../store/store.ts'

export interface BackgroundTasksDeps {
  readonly store: Store
  readonly inbox: Pick<Inbox, 'accept'>
  readonly turnResults: Pick<EventResults, 'wait'>
  readonly clock: () => number
  readonly log: Logger
}

export interface TaskRequest extends Pick<BackgroundTask, 'deliver'> {
  readonly prompt: string
  /** The user of the task's source. */
  readonly requester: { readonly id: string; readonly name: string }
  /** Of the person who caused the task. */
  readonly authority: Authority
  readonly maxIterations?: number | undefined
  readonly route?: string | undefined
}

/** A task that has not ended. It may be queued. */
export interface OpenTask {
  readonly id: string
  readonly by: string
  /** Since it was requested. */
  readonly ageMs: number
}

export interface BackgroundTasks {
  /** Resolves with the id of the task once it is on disk. Rejects as the inbox: `inbox/too-large`, `http/starting`, `store/…`. */
  start(order: TaskRequest): Promise<string>
  /** Tracks the tasks of the last process. Rejects `store/…`. */
  recover(): Promise<void>
  open(): readonly OpenTask[]
}

export function createBackgroundTasks({ store, inbox, turnResults, clock, log }: BackgroundTasksDeps): BackgroundTasks {
  const open = new Map<string, { readonly by: string; readonly since: number }>()
  /** A task is tracked as long as this process lives. */
  const never = new AbortController().signal

  function trackTask(seq: number, { source, timestamp, task }: MessageEvent): void {
    if (task === undefined) return
    const { id } = task
    open.set(id, { by: toLabel(source.userName ?? '', 80), since: timestamp })
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

  return {
    async start(order) {
      const now = clock()
      const event = taskEvent(order, now)
      const { id } = event.task
      const accepted = await inbox.accept(event, [brand<EventKey>(`background:${id}`)])
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
  }
}

function taskEvent(order: TaskRequest, now: number): MessageEvent & { readonly task: BackgroundTask } {
  const id = `bg_${sessionIdAt(now).slice('YYYYMMDD_'.length)}`
  const { deliver, maxIterations, prompt, requester, route = backgroundPlatform } = order
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
    task: { id, deliver, route, ...(maxIterations === undefined ? {} : { maxIterations }) },
  }
}

/** 200 characters, as the contract has it (§1.6). */
function previewOf({ text }: TurnResult): string {
  return Array.from(text.slice(0, 400)).slice(0, 200).join('')
}
