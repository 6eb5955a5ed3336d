/**
 * Defects that break the promises about inbound messages.
 */
import { randomUUID } from 'node:crypto'
import type { PlatformAdapter } from '../../../../src/platforms/adapter.ts'
import { createAdapter } from '../../fake-platform-adapter.ts'
import { parseUpdate } from '../../fake-platform-updates.ts'
import { neverAborted } from '../platform-requirement.ts'
import { type Defect, withChangedContext, withChangedKeys, withMisreadUpdate } from './create-defect.ts'

export const inboundDefects: readonly Defect[] = [
  {
    breaks: ['a message event has the source, the author and the exact text'],
    create: withMisreadUpdate((parsed) =>
      parsed.kind === 'message'
        ? { ...parsed, event: { ...parsed.event, text: parsed.event.text.replace(/\s+/g, ' ') } }
        : parsed,
    ),
  },
  {
    breaks: ['a reply reaches the chat of its message', 'a reply reaches the thread of its message'],
    create: withMisreadUpdate((parsed) =>
      parsed.kind === 'message'
        ? {
            ...parsed,
            event: {
              ...parsed.event,
              source: { ...parsed.event.source, prospectiveThreadId: 'another', threadId: 'another' },
            },
          }
        : parsed,
    ),
  },
  {
    breaks: ['a reply reaches the thread of its message'],
    create: (context) => createAdapter(context, ({ thread: _, ...update }, info) => parseUpdate(update, info)),
  },
  {
    breaks: [
      'an event that is delivered twice keeps its key, and two events have two keys',
      'an edit is a change of the edited message by its author',
      'a deleted message is a change of that message',
      'an adapter of the next start receives new events, and keys of repeated events stay the same',
    ],
    create: (context) =>
      createAdapter(
        context,
        withChangedKeys(() => randomUUID()),
      ),
  },
  {
    breaks: ['two users of a chat have different user ids'],
    create: (context) => createAdapter(context, (update, info) => parseUpdate({ ...update, user: 'user' }, info)),
  },
  {
    breaks: [
      'an event is acknowledged only after it was stored',
      'an event that could not be stored is not acknowledged, or is delivered again',
      'a message that is too large is acknowledged, and the user is notified',
    ],
    create: withChangedContext((context) => ({
      async accept(...args) {
        context.accept(...args).catch(() => undefined)
        return { status: 'accepted', seq: 0 }
      },
    })),
  },
  {
    breaks: ['an event that could not be stored is not acknowledged, or is delivered again'],
    create: withChangedContext((context) => ({
      accept: (...args) =>
        context.accept(...args).catch((error) => {
          if (error.code === 'inbox/too-large') throw error
          return { status: 'accepted', seq: 0 }
        }),
    })),
  },
  {
    breaks: ['a message that is too large is acknowledged, and the user is notified'],
    create: (context) => {
      const adapter: PlatformAdapter = createAdapter({
        ...context,
        accept: (event, keys) =>
          context.accept(event, keys).catch(async (error) => {
            const target = { platform: 'fake', account: 'default', chatId: 'chat' }
            if (error.code !== 'inbox/too-large') throw error
            await adapter.send({ deliveryId: 'note', target, kind: 'notice', text: 'too large' }, neverAborted)
            throw new Error('try again')
          }),
      })
      return adapter
    },
  },
  {
    breaks: ['a message of an unauthorised user is acknowledged without a reply'],
    create: (context) => {
      const adapter: PlatformAdapter = createAdapter({
        ...context,
        async accept(event, keys) {
          const accepted = await context.accept(event, keys)
          const target = { platform: 'fake', account: 'default', chatId: 'chat' }
          if (accepted.status === 'refused') {
            await adapter.send({ deliveryId: 'note', target, kind: 'notice', text: 'Go away.' }, neverAborted)
          }
          return accepted
        },
      })
      return adapter
    },
  },
  {
    breaks: ['messages of the bot itself are ignored'],
    create: (context) => createAdapter(context, ({ own: _, ...update }, info) => parseUpdate(update, info)),
  },
]
