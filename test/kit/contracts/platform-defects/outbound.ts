/**
 * Defects that break the promises of what is sent.
 */
import { type Defect, failedResult, truncateFile, withDefect, withFailingSend } from './create-defect.ts'

export const outboundDefects: readonly Defect[] = [
  {
    breaks: ['what is sent is seen'],
    create: withFailingSend(({ text, kind }) => (text === 'The answer.' && kind === 'reply' ? 'temporary' : undefined)),
  },
  {
    breaks: ['a message as long as the limit arrives whole'],
    create: withFailingSend(({ text }) => (Buffer.byteLength(text) > 4_000 ? 'rejected' : undefined)),
  },
  {
    breaks: ['signs that mean something to the platform are shown as they are, and change nothing about the limit'],
    create: withFailingSend(({ text }) => (text.replaceAll(/[&<>]/g, '&amp;').length > 4_000 ? 'rejected' : undefined)),
  },
  {
    breaks: ['an answer to a message that was taken back still arrives'],
    create: withFailingSend(({ replyTo }) => (replyTo === undefined ? undefined : 'rejected')),
  },
  {
    breaks: ['a send that is called off is answered, not thrown'],
    create: withDefect((honest) => ({
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
    create: withDefect((honest) => {
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
    create: withDefect(({ edit }) => {
      let last = ''
      return {
        async edit(id, message, ...rest) {
          if (message.text === last) return failedResult('rejected')
          last = message.text
          return edit(id, message, ...rest)
        },
      }
    }),
  },
  {
    breaks: ['an edit that changes nothing has succeeded'],
    create: withDefect(({ edit }) => ({
      async edit(...given) {
        const result = await edit(...given)
        return result.success && result.messageId === undefined ? failedResult('rejected') : result
      },
    })),
  },
  {
    breaks: ['an edit of a message that never was is answered, not thrown'],
    create: withDefect(({ edit }) => ({
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
    create: withDefect(({ edit }) => ({
      async edit(...given) {
        await edit(...given)
        return { success: true }
      },
    })),
  },
  {
    breaks: ['a message of ours can be taken back, and is gone then'],
    create: withDefect(() => ({ remove: async () => ({ success: true }) })),
  },
  {
    breaks: ['showing what the agent does never fails'],
    create: withDefect(({ typing }) => ({
      async typing(target, signal) {
        signal.throwIfAborted()
        return typing(target, signal)
      },
    })),
  },
  {
    breaks: ['a file arrives with its bytes and its caption'],
    create: withDefect((honest) => ({
      send: (message, signal) => honest.send(truncateFile(message), signal),
    })),
  },
  {
    breaks: ['a picture from the web arrives'],
    create: withDefect((honest) => ({
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
    create: withDefect((honest) => ({
      async send(message, signal) {
        if (message.attachment?.source.kind === 'file') await message.attachment.source.open()
        return honest.send(message, signal)
      },
    })),
  },
]
