/**
 * Background tasks that people request in a chat (contract §3.12): their limit, and who may see and stop them.
 */
import type { RequestedTask, TaskServices } from '../commands/command.ts'
import { type SessionSource, type Target, targetOf } from '../message/source.ts'
import type { BackgroundTasks } from './background-tasks.ts'
import type { SessionServices } from './session-services.ts'

export interface RequestedTasksDeps {
  readonly tasks: Pick<BackgroundTasks, 'start' | 'details'>
  readonly stopEvent: SessionServices['stopEvent']
}

/** For each person: a task may cost as much as many messages. */
const maxOpenTasksPerPerson = 5

export function createRequestedTasks({ tasks, stopEvent }: RequestedTasksDeps): TaskServices {
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
        const id = await tasks.start({ prompt, requester, authority, deliver, isRequested: true, key })
        return { status: 'started', id }
      } finally {
        starting.splice(starting.indexOf(requester.id), 1)
      }
    },
    // In a group, others would read what was asked in a private chat, and what an owner may see.
    list: ({ source, authority }) =>
      tasks
        .details()
        .filter((task) =>
          source.chatType === 'dm'
            ? isOwn(task, source) || authority.role === 'owner'
            : isOwn(task, source) && task.deliver !== null && isSameTarget(task.deliver, targetOf(source)),
        ),
    async stop({ source, authority }, id) {
      const found = tasks.details().find((task) => task.id === id)
      if (found === undefined || !(isOwn(found, source) || authority.role === 'owner')) return false
      await stopEvent(found.seq)
      return true
    },
  }
}

function isSameTarget(one: Target, other: Target): boolean {
  return (
    one.platform === other.platform &&
    one.account === other.account &&
    one.chatId === other.chatId &&
    one.threadId === other.threadId
  )
}

function isOwn({ requesterId }: RequestedTask, source: SessionSource): boolean {
  return requesterId === requesterIdOf(source)
}

function requesterIdOf({ platform, userId, chatId }: SessionSource): string {
  return `${platform}:${userId ?? chatId}`
}
