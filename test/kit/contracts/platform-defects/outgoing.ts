/**
 * Defects that break the promises of what is sent.
 */
import { cutFile, type Defect, failing, failure, flawed } from './flaw.ts'

export const outgoingDefects: readonly Defect[] = [
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
]
