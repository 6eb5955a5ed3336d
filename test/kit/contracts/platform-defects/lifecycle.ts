/**
 * Defects that break the promises of the life of a connection.
 */
import { randomUUID } from 'node:crypto'
import { HermesError } from '../../../../src/lib/errors.ts'
import { createAdapter } from '../../fake-platform-adapter.ts'
import { neverAborted } from '../platform-requirement.ts'
import { type Defect, withChangedContext, withChangedKeys, withDefect } from './create-defect.ts'

export const lifecycleDefects: readonly Defect[] = [
  {
    breaks: ['disconnecting is harmless before the first connect, and twice'],
    create: withDefect((honest) => {
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
    create: withDefect((honest) => {
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
    create: withDefect((honest) => {
      let connecting = false
      return {
        async connect() {
          connecting = true
          await honest.connect(neverAborted)
          connecting = false
        },
        disconnect: async () => (connecting ? undefined : honest.disconnect()),
      }
    }),
  },
  {
    breaks: ['after the disconnect nothing is handed in'],
    create: withDefect((honest) => {
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
        withChangedKeys((key) => `${life}:${key}`),
      )
    },
  },
  {
    breaks: [
      'what people write during an interruption is heard after it, once',
      'what could not be stored is not acknowledged, or is delivered again',
    ],
    create: withChangedContext((context) => {
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
    create: withChangedContext(() => ({ received: () => undefined })),
  },
  {
    breaks: ['a platform that cannot be reached fails the connect, and says why'],
    create: withDefect((honest) => ({
      connect: (signal) =>
        honest.connect(signal).catch((error) => {
          if (error instanceof HermesError) throw error
        }),
    })),
  },
  {
    breaks: ['a wrong token is told as such when it connects'],
    create: withDefect((honest) => ({
      connect: (signal) =>
        honest.connect(signal).catch((error) => {
          throw new Error('it did not work', { cause: error })
        }),
    })),
  },
]
