/**
 * Defects that break the promises of what people write.
 */
import { randomUUID } from 'node:crypto'
import type { PlatformAdapter } from '../../../../src/platforms/adapter.ts'
import { createAdapter } from '../../fake-platform-adapter.ts'
import { parseUpdate } from '../../fake-platform-updates.ts'
import { neverAborted } from '../platform-requirement.ts'
import { type Defect, withChangedContext, withChangedKeys, withMisreadUpdate } from './create-defect.ts'

export const inboundDefects: readonly Defect[] = [
  {
    breaks: ['a message tells where it came from and who wrote it, word for word'],
    create: withMisreadUpdate((meant) =>
      meant.kind === 'message'
        ? { ...meant, event: { ...meant.event, text: meant.event.text.replace(/\s+/g, ' ') } }
        : meant,
    ),
  },
  {
    breaks: [
      'an answer finds the way back to the chat it came from',
      'an answer finds the way back to the thread it came from',
    ],
    create: withMisreadUpdate((meant) =>
      meant.kind === 'message'
        ? {
            ...meant,
            event: {
              ...meant.event,
              source: { ...meant.event.source, prospectiveThreadId: 'another', threadId: 'another' },
            },
          }
        : meant,
    ),
  },
  {
    breaks: ['an answer finds the way back to the thread it came from'],
    create: (context) => createAdapter(context, ({ thread: _, ...update }, facts) => parseUpdate(update, facts)),
  },
  {
    breaks: [
      'an event delivered twice keeps its name, two events have two',
      'an edit is a change of the message that was edited, by who wrote it',
      'a message that is taken back is a change of that message',
      'the next life hears what is new, and knows again what it hears twice',
    ],
    create: (context) =>
      createAdapter(
        context,
        withChangedKeys(() => randomUUID()),
      ),
  },
  {
    breaks: ['two people in one chat are two people'],
    create: (context) => createAdapter(context, (update, facts) => parseUpdate({ ...update, user: 'user' }, facts)),
  },
  {
    breaks: [
      'nothing is acknowledged before it is on disk',
      'what could not be stored is not acknowledged, or is delivered again',
      'what will never fit is acknowledged, and the person is told',
    ],
    create: withChangedContext((context) => ({
      async accept(...given) {
        context.accept(...given).catch(() => undefined)
        return { status: 'accepted', seq: 0 }
      },
    })),
  },
  {
    breaks: ['what could not be stored is not acknowledged, or is delivered again'],
    create: withChangedContext((context) => ({
      accept: (...given) =>
        context.accept(...given).catch((error) => {
          if (error.code === 'inbox/too-large') throw error
          return { status: 'accepted', seq: 0 }
        }),
    })),
  },
  {
    breaks: ['what will never fit is acknowledged, and the person is told'],
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
    breaks: ['somebody who may not talk to the agent is acknowledged and hears nothing'],
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
    breaks: ['the bot does not hear itself'],
    create: (context) => createAdapter(context, ({ own: _, ...update }, facts) => parseUpdate(update, facts)),
  },
]
