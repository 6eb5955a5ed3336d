/**
 * Background tasks: the agent works on something that no chat waits for (contract §3.12). A task is an event like any
 * other, on disk before its id is given out and answered after a crash; but it has a session of its own, and its answer
 * goes where the task says. Gateway events tell nothing of it: a hook that starts one must not be called by it again.
 */

import type { EventResults } from '../inbox/event-results.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { listOpenEventsOfPlatform } from '../inbox/queries.ts'
import { parseStoredEvent } from '../inbox/stored-event.ts'
import { brand } from '../lib/brand.ts'
import { messageOf } from '../lib/errors.ts'
import { sessionIdAt } from '../lib/ids.ts'
import type { Logger } from '../lib/log.ts'
import type { BackgroundTask, MessageEvent } from '../message/event.ts'
import type { EventKey } from '../message/ids.ts'
import { backgroundPlatform } from '../message/source.ts'
import type { TurnResult } from '../message/turn-result.ts'
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
  /** Who asks, as other sources have their user. */
  readonly requester: { readonly id: string; readonly name: string }
  readonly maxIterations?: number | undefined
  readonly route?: string | undefined
}

/** A task that has not ended. It may wait for its turn. */
export interface OpenTask {
  readonly id: string
  readonly by: string
  /** Since it was asked for. */
  readonly ageMs: number
}

export interface BackgroundTasks {
  /** Resolves with the id of the task once it is on disk. Rejects as the inbox: `inbox/too-large`, `http/starting`, `store/…`. */
  start(order: TaskRequest): Promise<string>
  /** Finds the tasks that the last process left. Rejects `store/…`. */
  recover(): Promise<void>
  open(): readonly OpenTask[]
}

export function createBackgroundTasks({ store, inbox, turnResults, clock, log }: BackgroundTasksDeps): BackgroundTasks {
  const open = new Map<string, { readonly by: string; readonly since: number }>()
  /** Who waits for a task waits as long as this process lives. */
  const never = new AbortController().signal

  function trackTask(seq: number, { source, timestamp, task }: MessageEvent): void {
    if (task === undefined) return
    const { id } = task
    open.set(id, { by: source.userName ?? '', since: timestamp })
    turnResults
      .wait(seq, never)
      .then(
        (outcome) => logResult(id, outcome),
        (error: unknown) =>
          log.warn({ task: id, error }, `how a background task ended is not known: ${messageOf(error)}`),
      )
      .finally(() => open.delete(id))
  }

  function logResult(task: string, outcome: TurnResult): void {
    const { status: state } = outcome
    log[state === 'done' ? 'info' : 'warn']({ task, state }, `background task ended: ${previewOf(outcome)}`)
  }

  return {
    async start(order) {
      const now = clock()
      const event = taskEvent(order, now)
      const { id } = event.task
      const accepted = await inbox.accept(event, [brand<EventKey>(`background:${id}`)])
      if (accepted.status !== 'accepted') throw new Error(`the background task ${id} was ${accepted.status}`)
      log.info(
        { task: id, by: order.requester.name, to: order.deliver?.platform ?? 'nobody' },
        'background task begins',
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
    allowGatewayControl: false,
    task: { id, deliver, route, ...(maxIterations === undefined ? {} : { maxIterations }) },
  }
}

/** 200 characters, as the contract has it (§1.6). */
function previewOf({ text }: TurnResult): string {
  return Array.from(text.slice(0, 400)).slice(0, 200).join('')
}
