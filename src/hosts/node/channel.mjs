/**
 * The host's side of the pipe to the gateway.
 */
import { writeSync } from 'node:fs'

const maxLinesPerSecond = 100

export function createChannel(maxFrameBytes) {
  const waiting = new Map()
  let nextId = 1
  let currentSecond = 0
  /** The log lines of each module in this second. */
  const logged = new Map()

  /** Blocks until the line is written, so that no line is lost when the process exits. */
  const write = (line) => {
    const bytes = Buffer.from(`${line}\n`)
    try {
      for (let sent = 0; sent < bytes.length; ) sent += writeSync(4, bytes, sent)
    } catch {
      // The gateway no longer reads the pipe, so the error cannot be reported.
      process.exit(0)
    }
  }
  const send = (frame) => write(JSON.stringify(frame))

  return {
    send,

    /** Sends a value of a handler. Throws if it cannot be sent, with a message for the author of the handler. */
    sendValue(frame) {
      const line = JSON.stringify(frame)
      if (line.length * 3 > maxFrameBytes && Buffer.byteLength(line) >= maxFrameBytes)
        throw new RangeError(`it is longer than ${maxFrameBytes} bytes`)
      write(line)
    },

    /** Resolves with the response to a request. */
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
    /** Fails the pending requests of a cancelled call. */
    cancel(call) {
      const error = { name: 'AbortError', message: 'the call was cancelled', cancelled: true }
      for (const [id, one] of waiting) if (one.call === call) this.resolve({ t: 'error', id, error })
    },

    /** Sends a log line. Lines of a module above the rate limit are dropped here, where they cost the gateway nothing. */
    log(module, level, message, fields) {
      const now = Math.floor(performance.now() / 1_000)
      if (now !== currentSecond) {
        currentSecond = now
        logged.clear()
      }
      const count = (logged.get(module) ?? 0) + 1
      logged.set(module, count)
      if (count > maxLinesPerSecond + 1) return
      if (count <= maxLinesPerSecond)
        return send({ t: 'log', module, level, message: message.slice(0, 10_000), fields })
      send({
        t: 'log',
        module,
        level: 'warn',
        message: `more than ${maxLinesPerSecond} log lines in one second: the rest was dropped`,
      })
    },
  }
}
