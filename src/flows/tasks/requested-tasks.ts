/**
 * Background tasks that people request in a chat (contract §3.12), and sub-agents: their limit, and who may see and stop them.
 */

import type { RunningSubagent } from '../../agent/support/agent-hooks.ts'
import type { RequestedTask, TaskServices } from '../../commands/tasks.ts'
import type { SessionKey } from '../../message/ids.ts'
import { type SessionSource, type Target, targetOf } from '../../message/source.ts'
import { readSessionSettings } from '../../sessions/session-state.ts'
import type { Store } from '../../store/store.ts'
import type { SessionServices } from '../sessions/session-services.ts'
import type { BackgroundTasks, OpenTaskDetails } from './background-tasks.ts'
import type { HandedInTask } from './hand-in.ts'

export interface RequestedTasksDeps {
  readonly tasks: Pick<BackgroundTasks, 'start' | 'details'>
  readonly stopEvent: SessionServices['stopEvent']
  /** The sub-agents that run now. */
  readonly running: ReadonlyMap<string, RunningSubagent>
  /** Tells the conversation of a sub-agent that it was ended before it began. Rejects `store/…`. */
  handInUnstarted(task: HandedInTask): Promise<void>
  sessionKeyOf(source: SessionSource): SessionKey
  readonly store: Pick<Store, 'run'>
  /** Takes known secrets out of a text, as replies do. */
  withhold(text: string): string
  readonly clock: () => number
}

/** For each person: a task may cost as much as many messages. */
const maxOpenTasksPerPerson = 5

export function createRequestedTasks({
  tasks,
  stopEvent,
  running,
  handInUnstarted,
  sessionKeyOf,
  store,
  withhold,
  clock,
}: RequestedTasksDeps): TaskServices {
  /** Ids of people whose tasks are not on disk yet, one entry per task. */
  const starting: string[] = []

  return {
    async start({ source, authority, message }, prompt) {
      const requester = { id: requesterIdOf(source), name: source.userName ?? requesterIdOf(source) }
      const open = [...tasks.details().map(({ requesterId }) => requesterId), ...starting]
      if (open.filter((id) => id === requester.id).length >= maxOpenTasksPerPerson)
        return { status: 'too-many', limit: maxOpenTasksPerPerson }
      const deliver = targetOf(source)
      // A crash between the start of the task and the end of the command repeats the command.
      const key = message === undefined ? undefined : `command:${message.seq}`
      starting.push(requester.id)
      try {
        const { model } = await store.run(() => readSessionSettings(sessionKeyOf(source)))
        const id = await tasks.start({ prompt, requester, authority, deliver, isRequested: true, model, key })
        return { status: 'started', id }
      } finally {
        starting.splice(starting.indexOf(requester.id), 1)
      }
    },
    list(by) {
      const details = tasks.details()
      const listed = details.filter((task) => mayList(by, task)).map((task) => withProgress(task, running.get(task.id)))
      const others = [...running.values()].filter(({ id }) => !details.some((task) => task.id === id))
      const homeOf = conversationsOf(details, running)
      const isHere = (key: string) => homeOf(key) === sessionKeyOf(by.source)
      return [
        ...listed,
        ...others.filter((task) => mayListSubagent(by, task, isHere)).map((task) => toListedSubagent(task, clock())),
      ]
    },
    async stop(by, id) {
      const subagent = running.get(id)
      const detail = tasks.details().find((task) => task.id === id)
      if (detail === undefined) {
        if (subagent === undefined || !(isOwnSubagent(subagent, by.source) || by.authority.role === 'owner'))
          return false
        subagent.stop()
        return true
      }
      if (!(isOwn(detail, by.source) || by.authority.role === 'owner')) return false
      await stopEvent(detail.seq)
      // One that has begun ends with a result of its own.
      const { delegation, authority } = detail
      if (delegation !== undefined && authority !== undefined && subagent === undefined)
        await handInUnstarted({ id, delegation, authority })
      return true
    },
    withhold,
  }
}

type Requester = Parameters<TaskServices['list']>[0]

/** In a group, others would read what was asked in a private chat, and what an owner may see. */
function mayList({ source, authority }: Requester, task: OpenTaskDetails): boolean {
  if (source.chatType === 'dm') return isOwn(task, source) || authority.role === 'owner'
  const place = task.delegation === undefined ? task.deliver : targetOf(task.delegation.source)
  return isOwn(task, source) && place !== null && isSameTarget(place, targetOf(source))
}

function mayListSubagent(
  { source, authority }: Requester,
  subagent: RunningSubagent,
  isHere: (sessionKey: string) => boolean,
): boolean {
  if (source.chatType === 'dm') return isOwnSubagent(subagent, source) || authority.role === 'owner'
  return isOwnSubagent(subagent, source) && isHere(subagent.turn.sessionKey)
}

/** The conversation to which the sub-agents of a session belong: those in the background have sessions of their own. */
function conversationsOf(
  details: readonly OpenTaskDetails[],
  running: ReadonlyMap<string, RunningSubagent>,
): (sessionKey: string) => string {
  const homes = new Map<string, string>()
  for (const { id, delegation } of details) {
    const owner = running.get(id)?.turn.sessionKey
    if (owner !== undefined && delegation !== undefined) homes.set(owner, delegation.sessionKey)
  }
  return (sessionKey) => homes.get(sessionKey) ?? sessionKey
}

function withProgress(task: OpenTaskDetails, running: RunningSubagent | undefined): RequestedTask {
  const { delegation } = task
  if (delegation === undefined) return task
  const progress = running === undefined ? { depth: delegation.depth, tokens: 0 } : progressOf(running)
  return { ...task, prompt: delegation.goal, subagent: progress }
}

function toListedSubagent(subagent: RunningSubagent, now: number): RequestedTask {
  const { id, info, turn, startedAt } = subagent
  const requesterId = turn.causedBy ?? ''
  return {
    ...{ id, by: 'sub-agent', requesterId, ageMs: now - startedAt, prompt: info.goal },
    subagent: progressOf(subagent),
  }
}

function progressOf({ info, usage, tool }: RunningSubagent): NonNullable<RequestedTask['subagent']> {
  const { inputTokens, outputTokens } = usage()
  const current = tool()
  return { depth: info.depth, tokens: inputTokens + outputTokens, tool: current }
}

function isSameTarget(a: Target, b: Target): boolean {
  return a.platform === b.platform && a.account === b.account && a.chatId === b.chatId && a.threadId === b.threadId
}

function isOwnSubagent({ turn }: RunningSubagent, source: SessionSource): boolean {
  return turn.causedBy === requesterIdOf(source)
}

function isOwn({ requesterId }: RequestedTask, source: SessionSource): boolean {
  return requesterId === requesterIdOf(source)
}

function requesterIdOf({ platform, userId, chatId }: SessionSource): string {
  return `${platform}:${userId ?? chatId}`
}
