/**
 * Adapters with one defect each: for every promise of the platform contract one that breaks it. They are the fake platform's
 * adapter with a part that is wrong, a gateway that it is misled about, or a meaning that it mishears.
 */
import { randomUUID } from 'node:crypto'
import { brand } from '../../../src/lib/brand.ts'
import { HermesError } from '../../../src/lib/errors.ts'
import type { Attachment } from '../../../src/message/event.ts'
import type { EventKey } from '../../../src/message/ids.ts'
import type { OutboundMessage, SendProblem, SendResult } from '../../../src/message/outbound.ts'
import type { PlatformAdapter, PlatformContext } from '../../../src/platforms/adapter.ts'
import { createAdapter } from '../fake-platform-adapter.ts'
import { type FakeMeaning, type FakeUpdate, meaningOf } from '../fake-platform-updates.ts'
import { never } from './platform-promise.ts'

export interface Defect {
  /** The promise it is made for; then those that it cannot help breaking, too. */
  readonly breaks: readonly string[]
  create(context: PlatformContext): PlatformAdapter
}

export const defects: readonly Defect[] = [
  {
    breaks: ['disconnecting is harmless before the first connect, and twice'],
    create: flawed((honest) => {
      let connected = false
      return {
        async connect(signal) {
          connected = true
          await honest.connect(signal)
        },
        async disconnect() {
          if (!connected) throw new Error('not connected')
          await honest.disconnect()
        },
      }
    }),
  },
  {
    breaks: ['a connection can be ended twice', 'disconnecting is harmless before the first connect, and twice'],
    create: flawed((honest) => {
      let ended = 0
      return {
        async disconnect() {
          await honest.disconnect()
          ended += 1
          if (ended === 2) throw new Error('ended before')
        },
      }
    }),
  },
  {
    breaks: ['disconnecting ends a connect that is still under way'],
    create: flawed((honest) => {
      let connecting = false
      return {
        async connect() {
          connecting = true
          await honest.connect(never)
          connecting = false
        },
        disconnect: async () => (connecting ? undefined : honest.disconnect()),
      }
    }),
  },
  {
    breaks: ['after the disconnect nothing is handed in'],
    create: flawed((honest) => {
      let asked = 0
      return {
        async disconnect() {
          asked += 1
          if (asked > 1) await honest.disconnect()
        },
      }
    }),
  },
  {
    breaks: [
      'the next life hears what is new, and knows again what it hears twice',
      'an edit is a change of the message that was edited, by who wrote it',
      'a message that is taken back is a change of that message',
    ],
    create(context) {
      const life = randomUUID()
      return createAdapter(
        context,
        renamed((key) => `${life}:${key}`),
      )
    },
  },
  {
    breaks: [
      'what people write during an interruption is heard after it, once',
      'what could not be stored is not acknowledged, or is delivered again',
    ],
    create: misled((context) => {
      let interrupted = false
      return {
        health(state, reason) {
          interrupted = true
          context.health(state, reason)
        },
        accept: async (...given) => (interrupted ? { status: 'accepted', seq: 0 } : context.accept(...given)),
      }
    }),
  },
  {
    breaks: ['it tells that something came in, where a connection can be lost'],
    create: misled(() => ({ received: () => undefined })),
  },
  {
    breaks: ['a platform that cannot be reached fails the connect, and says why'],
    create: flawed((honest) => ({
      connect: (signal) =>
        honest.connect(signal).catch((error) => {
          if (error instanceof HermesError) throw error
        }),
    })),
  },
  {
    breaks: ['a wrong token is told as such when it connects'],
    create: flawed((honest) => ({
      connect: (signal) =>
        honest.connect(signal).catch((error) => {
          throw new Error('it did not work', { cause: error })
        }),
    })),
  },
  {
    breaks: ['a message tells where it came from and who wrote it, word for word'],
    create: misheard((meant) =>
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
    create: misheard((meant) =>
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
    create: (context) => createAdapter(context, ({ thread: _, ...update }, facts) => meaningOf(update, facts)),
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
        renamed(() => randomUUID()),
      ),
  },
  {
    breaks: ['two people in one chat are two people'],
    create: (context) => createAdapter(context, (update, facts) => meaningOf({ ...update, user: 'user' }, facts)),
  },
  {
    breaks: [
      'nothing is acknowledged before it is on disk',
      'what could not be stored is not acknowledged, or is delivered again',
      'what will never fit is acknowledged, and the person is told',
    ],
    create: misled((context) => ({
      async accept(...given) {
        context.accept(...given).catch(() => undefined)
        return { status: 'accepted', seq: 0 }
      },
    })),
  },
  {
    breaks: ['what could not be stored is not acknowledged, or is delivered again'],
    create: misled((context) => ({
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
            await adapter.send({ deliveryId: 'note', target, kind: 'notice', text: 'too large' }, never)
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
            await adapter.send({ deliveryId: 'note', target, kind: 'notice', text: 'Go away.' }, never)
          }
          return accepted
        },
      })
      return adapter
    },
  },
  {
    breaks: ['the bot does not hear itself'],
    create: (context) => createAdapter(context, ({ own: _, ...update }, facts) => meaningOf(update, facts)),
  },
  {
    breaks: ['an edit is a change of the message that was edited, by who wrote it'],
    create: misheard((meant) =>
      meant.kind === 'change' && meant.change.kind === 'edited'
        ? { ...meant, change: { ...meant.change, of: meant.keys[0] } }
        : meant,
    ),
  },
  {
    breaks: ['two edits of one message are two changes, each as it then read'],
    create: misheard((meant, { id }) =>
      meant.kind === 'change' ? { ...meant, keys: [brand<EventKey>(`edit of ${id}`)] } : meant,
    ),
  },
  {
    breaks: ['a message that is taken back is a change of that message'],
    create: misheard((meant) =>
      meant.kind === 'change' && meant.change.kind === 'deleted'
        ? { ...meant, change: { ...meant.change, of: meant.keys[0] } }
        : meant,
    ),
  },
  {
    breaks: ['a reaction tells its emoji, who gave it and to which message'],
    create: misheard((meant, { update }) =>
      meant.kind === 'change' && meant.change.kind === 'reaction'
        ? { ...meant, change: { ...meant.change, messageId: String(update) } }
        : meant,
    ),
  },
  {
    breaks: ['a document arrives with its name, and its bytes can be fetched'],
    create: misheard((meant) => withFiles(meant, (files) => files.map(({ fileName: _, ...file }) => file))),
  },
  {
    breaks: ['a picture arrives as a picture, once', 'a document arrives with its name, and its bytes can be fetched'],
    create: misheard((meant) => withFiles(meant, (files) => [...files, ...files])),
  },
  {
    breaks: ['buttons are shown, and a press tells which one and who pressed it'],
    create: misheard((meant) =>
      meant.kind === 'press' ? { ...meant, press: { ...meant.press, buttonId: 'ask:1:allow' } } : meant,
    ),
  },
  {
    breaks: ['who presses a button too late is told so'],
    create: misled((context) => ({
      async press(press) {
        await context.press(press)
        return { status: 'taken', text: 'Noted.' }
      },
    })),
  },
  {
    breaks: ['buttons are taken away by an edit without them'],
    create: flawed(({ edit }) => ({
      edit: (id, message, ...rest) => edit(id, { ...message, buttons: [{ id: 'a', label: 'stays' }] }, ...rest),
    })),
  },
  {
    breaks: ['what is sent is seen'],
    create: failing(({ text, kind }) => (text === 'The answer.' && kind === 'reply' ? 'temporary' : undefined)),
  },
  {
    breaks: ['a message as long as the limit arrives whole'],
    create: failing(({ text }) => (Buffer.byteLength(text) > 4_000 ? 'rejected' : undefined)),
  },
  {
    breaks: ['signs that mean something to the platform are shown as they are, and change nothing about the limit'],
    create: failing(({ text }) => (text.replaceAll(/[&<>]/g, '&amp;').length > 4_000 ? 'rejected' : undefined)),
  },
  {
    breaks: ['an answer to a message that was taken back still arrives'],
    create: failing(({ replyTo }) => (replyTo === undefined ? undefined : 'rejected')),
  },
  {
    breaks: ['a send that is called off is answered, not thrown'],
    create: flawed((honest) => ({
      async send(message, signal) {
        signal.throwIfAborted()
        return honest.send(message, signal)
      },
    })),
  },
  {
    breaks: [
      'a send after the disconnect is answered, not thrown',
      'no secret shows in the log, in an error or in the health',
    ],
    create: flawed((honest) => {
      let over = false
      return {
        async disconnect() {
          over = true
          await honest.disconnect()
        },
        async send(message, signal) {
          if (over) throw new Error('not connected')
          return honest.send(message, signal)
        },
      }
    }),
  },
  {
    breaks: ['a growing reply ends as the final text, and an edit may be repeated'],
    create: flawed(({ edit }) => {
      let last = ''
      return {
        async edit(id, message, ...rest) {
          if (message.text === last) return failure('rejected')
          last = message.text
          return edit(id, message, ...rest)
        },
      }
    }),
  },
  {
    breaks: ['an edit that changes nothing has succeeded'],
    create: flawed(({ edit }) => ({
      async edit(...given) {
        const result = await edit(...given)
        return result.success && result.messageId === undefined ? failure('rejected') : result
      },
    })),
  },
  {
    breaks: ['an edit of a message that never was is answered, not thrown'],
    create: flawed(({ edit }) => ({
      async edit(id, ...rest) {
        if (id === 'gone') throw new Error('there is no such message')
        return edit(id, ...rest)
      },
    })),
  },
  {
    breaks: [
      'an edit of a message that somebody removed is rejected, so that the answer is sent anew',
      'a message of ours can be taken back, and is gone then',
    ],
    create: flawed(({ edit }) => ({
      async edit(...given) {
        await edit(...given)
        return { success: true }
      },
    })),
  },
  {
    breaks: ['a message of ours can be taken back, and is gone then'],
    create: flawed(() => ({ remove: async () => ({ success: true }) })),
  },
  {
    breaks: ['showing what the agent does never fails'],
    create: flawed(({ typing }) => ({
      async typing(target, signal) {
        signal.throwIfAborted()
        return typing(target, signal)
      },
    })),
  },
  {
    breaks: ['a file arrives with its bytes and its caption'],
    create: flawed((honest) => ({
      send: (message, signal) => honest.send(cutFile(message), signal),
    })),
  },
  {
    breaks: ['a picture from the web arrives'],
    create: flawed((honest) => ({
      async send(message, signal) {
        const { attachment } = message
        if (attachment?.source.kind !== 'url') return honest.send(message, signal)
        const source = { kind: 'url' as const, url: 'about:blank' }
        return honest.send({ ...message, attachment: { ...attachment, source } }, signal)
      },
    })),
  },
  {
    breaks: ['a file that has gone meanwhile is a failed send, not a crash'],
    create: flawed((honest) => ({
      async send(message, signal) {
        if (message.attachment?.source.kind === 'file') await message.attachment.source.open()
        return honest.send(message, signal)
      },
    })),
  },
  {
    breaks: [
      'a platform that cannot be reached is a temporary problem',
      'when the answer to a send is lost, the message may have arrived, and it is not sent twice',
      'a message whose answer was lost is found again',
    ],
    create: telling((result) => (result.maybeSent === true ? { ...result, problem: 'rejected' } : result)),
  },
  {
    breaks: ['too many calls is told with the wait, and not tried again behind the back of the outbox'],
    create: telling(({ retryAfterMs, ...result }) => ({
      ...result,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs: retryAfterMs / 1_000 }),
    })),
  },
  {
    breaks: ['too many calls is told with the wait, and not tried again behind the back of the outbox'],
    create: flawed((honest) => ({
      async send(message, signal) {
        const result = await honest.send(message, signal)
        if (!result.success && result.problem === 'rate-limited') await honest.send(message, signal)
        return result
      },
    })),
  },
  {
    breaks: ['a token that is no longer right stops the account'],
    create: telling((result) => (result.problem === 'unauthorised' ? { ...result, problem: 'rejected' } : result)),
  },
  {
    breaks: ['a chat that is gone rejects the message, and nobody tries it again'],
    create: flawed((honest) => ({
      async send(message, signal) {
        const result = await honest.send(message, signal)
        const gone = !result.success && result.error.includes('no such chat')
        return gone ? { ...result, problem: 'temporary' } : result
      },
    })),
  },
  {
    breaks: ['when the answer to a send is lost, the message may have arrived, and it is not sent twice'],
    create: telling(({ maybeSent: _, ...result }) => result),
  },
  {
    breaks: ['when the answer to a send is lost, the message may have arrived, and it is not sent twice'],
    create: flawed((honest) => ({
      async send(message, signal) {
        const result = await honest.send(message, signal)
        if (!result.success && result.maybeSent === true) await honest.send(message, signal)
        return result
      },
    })),
  },
  {
    breaks: ['a message whose answer was lost is found again'],
    create: flawed((honest) => {
      const answered = new Set<string>()
      return {
        async send(message, signal) {
          const result = await honest.send(message, signal)
          if (result.success) answered.add(message.deliveryId)
          return result
        },
        resolveUnknown: async ({ deliveryId }) => (answered.has(deliveryId) ? { sent: true } : { sent: false }),
      }
    }),
  },
  {
    breaks: ['what was sent can be told from what was not, where the platform can tell'],
    create: flawed(() => ({ resolveUnknown: async () => ({ sent: true }) })),
  },
  {
    breaks: ['no secret shows in the log, in an error or in the health'],
    create: telling((result) => ({ ...result, error: `${result.error} (with the-token-of-the-fake-platform)` })),
  },
  {
    breaks: ['no secret shows in the log, in an error or in the health'],
    create: flawed((honest, context) => ({
      async connect(signal) {
        context.log.debug({ headers: { authorization: `Bearer ${context.options['token']}` } }, 'connects')
        await honest.connect(signal)
      },
    })),
  },
]

type FakeAdapter = PlatformAdapter & Required<Pick<PlatformAdapter, 'edit' | 'remove' | 'typing' | 'resolveUnknown'>>

/** An adapter of which one part is wrong. */
function flawed(change: (honest: FakeAdapter, context: PlatformContext) => Partial<PlatformAdapter>) {
  return (context: PlatformContext): PlatformAdapter => {
    const honest = createAdapter(context)
    const { edit, remove, typing, resolveUnknown } = honest
    if (!edit || !remove || !typing || !resolveUnknown) throw new Error('the fake platform can do all of this')
    return { ...honest, ...change({ ...honest, edit, remove, typing, resolveUnknown }, context) }
  }
}

/** An adapter that fails to send what it need not fail to send. */
function failing(problemOf: (message: OutboundMessage) => SendProblem | undefined) {
  return flawed((honest) => ({
    async send(message, signal) {
      const problem = problemOf(message)
      return problem === undefined ? honest.send(message, signal) : failure(problem)
    },
  }))
}

type Failure = Extract<SendResult, { success: false }>

/** An adapter that tells wrongly how a send has failed. */
function telling(change: (result: Failure) => Failure) {
  return flawed((honest) => ({
    async send(message, signal) {
      const result = await honest.send(message, signal)
      return result.success ? result : change(result)
    },
  }))
}

/** An adapter that gets another gateway than it should. */
function misled(change: (context: PlatformContext) => Partial<PlatformContext>) {
  return (context: PlatformContext) => createAdapter({ ...context, ...change(context) })
}

/** An adapter that takes what it hears for something else. */
function misheard(change: (meant: FakeMeaning, update: FakeUpdate) => FakeMeaning) {
  return (context: PlatformContext) =>
    createAdapter(context, (update, facts) => change(meaningOf(update, facts), update))
}

/** Messages get another name. */
function renamed(change: (key: EventKey) => string): typeof meaningOf {
  return (update, facts) => {
    const meant = meaningOf(update, facts)
    return meant.kind === 'message' ? { ...meant, keys: [brand<EventKey>(change(meant.keys[0]))] } : meant
  }
}

function failure(problem: SendProblem): SendResult {
  return { success: false, problem, error: 'it did not work' }
}

/** A message with other files. */
function withFiles(meant: FakeMeaning, change: (files: readonly Attachment[]) => readonly Attachment[]): FakeMeaning {
  if (meant.kind !== 'message' || meant.event.attachments === undefined) return meant
  return { ...meant, event: { ...meant.event, attachments: change(meant.event.attachments) } }
}

/** The first byte of the file is lost. */
function cutFile(message: OutboundMessage): OutboundMessage {
  const { attachment } = message
  if (attachment?.source.kind !== 'file') return message
  const { source } = attachment
  const open = async () => (await source.open()).slice(1)
  return { ...message, attachment: { ...attachment, source: { ...source, open } } }
}
