/**
 * The host's side of the pipe to the gateway.
 */
import { writeSync } from 'node:fs'

const maxLinesPerSecond = 100

export function createChannel(maxFrameBytes) {
  const waiting = new Map()
  let nextId = 1
  let currentSecond = 0
  let logged = 0
  let dropped = 0

  /** Blocks until the gateway has taken it: what was said before the process ends is said. */
  const write = (line) => {
    const bytes = Buffer.from(`${line}\n`)
    try {
      for (let sent = 0; sent < bytes.length; ) sent += writeSync(4, bytes, sent)
    } catch {
      // Nobody reads any more, so nobody can be told: the end of the process says it.
      process.exit(0)
    }
  }
  const send = (frame) => write(JSON.stringify(frame))

  return {
    send,

    /** Sends what a handler made. Throws what cannot be sent, with words for its author. */
    sendValue(frame) {
      const line = JSON.stringify(frame)
      if (line.length * 3 > maxFrameBytes && Buffer.byteLength(line) >= maxFrameBytes)
        throw new RangeError(`it is longer than ${maxFrameBytes} bytes`)
      write(line)
    },

    /** Resolves with the frame that answers a request. */
    request(frame, sendRequest) {
      const id = nextId++
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, call: frame.call })
        try {
          sendRequest({ ...frame, id })
        } catch (error) {
          waiting.delete(id)
          reject(error)
        }
      })
    },
    resolve(frame) {
      waiting.get(frame.id)?.resolve(frame)
      waiting.delete(frame.id)
    },
    /** Wakes those who wait for an answer in a call that should end. */
    cancel(call) {
      const error = { name: 'AbortError', message: 'the call should end', cancelled: true }
      for (const [id, one] of waiting) if (one.call === call) this.resolve({ t: 'error', id, error })
    },

    /** A line for the log of the gateway; too many in a second are dropped here, where it costs the gateway nothing. */
    log(module, level, message, fields) {
      const now = Math.floor(performance.now() / 1_000)
      if (now !== currentSecond) {
        currentSecond = now
        logged = 0
      }
      logged += 1
      if (logged > maxLinesPerSecond) {
        dropped += 1
        return
      }
      if (dropped > 0)
        send({ t: 'log', module, level: 'warn', message: `${dropped} lines of the log were dropped: too many` })
      dropped = 0
      send({ t: 'log', module, level, message: message.slice(0, 10_000), fields })
    },
  }
}
