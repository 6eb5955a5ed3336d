/**
 * Defects that break the promises about connecting and disconnecting.
 */
import { randomUUID } from 'node:crypto'
import { HermesError } from '../../../../src/lib/errors.ts'
import { createAdapter } from '../../fake-platform-adapter.ts'
import { neverAborted } from '../platform-requirement.ts'
import { type Defect, withChangedContext, withChangedKeys, withDefect } from './create-defect.ts'

export const lifecycleDefects: readonly Defect[] = [
  {
    breaks: ['disconnect may be called before connect, and twice'],
    create: withDefect((correct) => {
      let connected = false
      return {
        async connect(signal) {
          connected = true
          await correct.connect(signal)
        },
        async disconnect() {
          if (!connected) throw new Error('not connected')
          await correct.disconnect()
        },
      }
    }),
  },
  {
    breaks: ['disconnect may be called twice after connect', 'disconnect may be called before connect, and twice'],
    create: withDefect((correct) => {
      let ended = 0
      return {
        async disconnect() {
          await correct.disconnect()
          ended += 1
          if (ended === 2) throw new Error('ended before')
        },
      }
    }),
  },
  {
    breaks: ['disconnect cancels a pending connect'],
    create: withDefect((correct) => {
      let connecting = false
      return {
        async connect() {
          connecting = true
          await correct.connect(neverAborted)
          connecting = false
        },
        disconnect: async () => (connecting ? undefined : correct.disconnect()),
      }
    }),
  },
  {
    breaks: ['no event is ingested after disconnect'],
    create: withDefect((correct) => {
      let asked = 0
      return {
        async disconnect() {
          asked += 1
          if (asked > 1) await correct.disconnect()
        },
      }
    }),
  },
  {
    breaks: [
      'an adapter of the next start receives new events, and keys of repeated events stay the same',
      'an edit is a change of the edited message by its author',
      'a deleted message is a change of that message',
    ],
    create(context) {
      const start = randomUUID()
      return createAdapter(
        context,
        withChangedKeys((key) => `${start}:${key}`),
      )
    },
  },
  {
    breaks: [
      'messages sent during an interruption are received once after it',
      'an event that could not be stored is not acknowledged, or is delivered again',
    ],
    create: withChangedContext((context) => {
      let interrupted = false
      return {
        connection: {
          ...context.connection,
          health(state, reason) {
            interrupted = true
            context.connection.health(state, reason)
          },
        },
        accept: async (...args) => (interrupted ? { status: 'accepted', seq: 0 } : context.accept(...args)),
      }
    }),
  },
  {
    breaks: ['an adapter that can lose its connection calls `received`'],
    create: withChangedContext(({ connection }) => ({ connection: { ...connection, received: () => undefined } })),
  },
  {
    breaks: ['connect rejects with a reason when the platform is unreachable'],
    create: withDefect((correct) => ({
      connect: (signal) =>
        correct.connect(signal).catch((error) => {
          if (error instanceof HermesError) throw error
        }),
    })),
  },
  {
    breaks: ['connect rejects with `platform/unauthorised` for a wrong token'],
    create: withDefect((correct) => ({
      connect: (signal) =>
        correct.connect(signal).catch((error) => {
          throw new Error('it did not work', { cause: error })
        }),
    })),
  },
]
