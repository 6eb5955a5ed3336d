/**
 * Defects that break the promises about outbound messages.
 */
import { type Defect, failedResult, truncateFile, withDefect, withFailingSend } from './create-defect.ts'

export const outboundDefects: readonly Defect[] = [
  {
    breaks: ['a sent message is shown'],
    create: withFailingSend(({ text, kind }) => (text === 'The answer.' && kind === 'reply' ? 'temporary' : undefined)),
  },
  {
    breaks: ['a message of the maximum length arrives complete'],
    create: withFailingSend(({ text }) => (Buffer.byteLength(text) > 4_000 ? 'rejected' : undefined)),
  },
  {
    breaks: ['special characters of the platform are shown literally and do not reduce the limit'],
    create: withFailingSend(({ text }) => (text.replaceAll(/[&<>]/g, '&amp;').length > 4_000 ? 'rejected' : undefined)),
  },
  {
    breaks: ['a reply to a deleted message still arrives'],
    create: withFailingSend(({ replyTo }) => (replyTo === undefined ? undefined : 'rejected')),
  },
  {
    breaks: ['an aborted send resolves with a result'],
    create: withDefect((correct) => ({
      async send(message, signal) {
        signal.throwIfAborted()
        return correct.send(message, signal)
      },
    })),
  },
  {
    breaks: [
      'a send after disconnect resolves with a result',
      'no secret appears in the log, in an error or in a health report',
    ],
    create: withDefect((correct) => {
      let over = false
      return {
        async disconnect() {
          over = true
          await correct.disconnect()
        },
        async send(message, signal) {
          if (over) throw new Error('not connected')
          return correct.send(message, signal)
        },
      }
    }),
  },
  {
    breaks: ['a draft ends as the final text, and an edit may be repeated'],
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
    breaks: ['an edit without changes succeeds'],
    create: withDefect(({ edit }) => ({
      async edit(...args) {
        const result = await edit(...args)
        return result.success && result.messageId === undefined ? failedResult('rejected') : result
      },
    })),
  },
  {
    breaks: ['an edit of an unknown message resolves with a result'],
    create: withDefect(({ edit }) => ({
      async edit(id, ...rest) {
        if (id === 'gone') throw new Error('there is no such message')
        return edit(id, ...rest)
      },
    })),
  },
  {
    breaks: [
      'an edit of a removed message fails with `rejected`, so that the reply is sent again',
      'a message of the bot can be removed',
    ],
    create: withDefect(({ edit }) => ({
      async edit(...args) {
        await edit(...args)
        return { success: true }
      },
    })),
  },
  {
    breaks: ['a message of the bot can be removed'],
    create: withDefect(() => ({ remove: async () => ({ success: true }) })),
  },
  {
    breaks: ['typing and activity notifications never fail'],
    create: withDefect(({ typing }) => ({
      async typing(target, signal) {
        signal.throwIfAborted()
        return typing(target, signal)
      },
    })),
  },
  {
    breaks: ['a file arrives with its bytes and its caption'],
    create: withDefect((correct) => ({
      send: (message, signal) => correct.send(truncateFile(message), signal),
    })),
  },
  {
    breaks: ['an image given by its URL arrives'],
    create: withDefect((correct) => ({
      async send(message, signal) {
        const { attachment } = message
        if (attachment?.source.kind !== 'url') return correct.send(message, signal)
        const source = { kind: 'url' as const, url: 'about:blank' }
        return correct.send({ ...message, attachment: { ...attachment, source } }, signal)
      },
    })),
  },
  {
    breaks: ['a file that cannot be read fails the send'],
    create: withDefect((correct) => ({
      async send(message, signal) {
        if (message.attachment?.source.kind === 'file') await message.attachment.source.open()
        return correct.send(message, signal)
      },
    })),
  },
]
