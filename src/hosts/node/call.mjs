/**
 * One call of a handler: its arguments, its requests to the gateway and its result.
 */
import { messageOf, stackOf } from './errors.mjs'

/** The last argument of a handler. Its properties are created on demand, because most handlers do not use them. */
class Services {
  #call
  #gateway
  constructor(call) {
    this.#call = call
  }
  /** Aborts when the call is cancelled or its deadline has passed. */
  get signal() {
    return this.#call.signal
  }
  get log() {
    return this.#call.log
  }
  get gateway() {
    const { request } = this.#call
    this.#gateway ??= {
      send: (target, text) => request('send', [target, text]),
      startAgent: (prompt, options = {}) => request('startAgent', [prompt, options]),
    }
    return this.#gateway
  }
}

export function createCall(frame, channel) {
  const { id, module } = frame
  const references = createReferenceTable()
  let controller
  let ended = false

  const request = async (method, args) => {
    if (ended) throw new Error(`${method}: its call has ended`)
    const refs = args.flatMap((arg, index) => {
      const ref = references.referenceOf(arg)
      return ref === undefined ? [] : [[index, ref]]
    })
    const kept = new Set(refs.map(([index]) => index))
    const sent = args.map((arg, index) => (kept.has(index) ? null : arg))
    const response = await channel.request({ t: 'request', call: id, method, args: sent, refs }, channel.sendValue)
    if (response.t === 'error') throw references.createError(response.error)
    return references.track(response.value, response.ref)
  }
  const log = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((level) => [
      level,
      (...args) => channel.log(module, level, ...parseLogArguments(args)),
    ]),
  )

  const call = {
    id,
    module,
    log,
    request,
    get signal() {
      controller ??= new AbortController()
      return controller.signal
    },
    cancel() {
      controller ??= new AbortController()
      controller.abort()
    },
    /** Runs the handler and sends its result. Never rejects. */
    async run(fn) {
      let value
      try {
        if (fn === undefined)
          return sendFailure(channel, id, 'unloadable', new Error(`it exports no function ${frame.fn}`))
        value = await fn(...argumentsOf(frame, call, references))
      } catch (error) {
        const ref = references.errorReference(error)
        return sendFailure(channel, id, 'threw', error, ref)
      } finally {
        ended = true
      }
      try {
        sendResult(value)
      } catch (error) {
        sendFailure(channel, id, 'unserialisable', new Error(`its result cannot be sent: ${messageOf(error)}`))
      }
    },
  }

  const sendResult = (value) => {
    if (frame.discard) return channel.send({ t: 'callResult', id })
    const ref = references.referenceOf(value)
    if (ref !== undefined) return channel.send({ t: 'callResult', id, ref })
    if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`it is a ${typeof value}`)
    channel.sendValue({ t: 'callResult', id, value })
  }
  return call
}

function argumentsOf(frame, call, references) {
  const { args, keywords, callbacks = [], refs = [] } = frame
  for (const [key, ref] of refs) references.track(typeof key === 'number' ? args[key] : keywords[key], ref)
  const callArguments = [...args]
  if (keywords !== undefined || callbacks.length > 0) {
    const functions = callbacks.map((name) => [name, (...values) => call.request(name, values)])
    callArguments.push({ ...keywords, ...Object.fromEntries(functions) })
  }
  if (frame.services) callArguments.push(new Services(call))
  return callArguments
}

/** The copies of one call and their references. */
function createReferenceTable() {
  const tracked = new Map()
  return {
    /** Stores the current content of a copy. */
    track(copy, ref) {
      if (ref !== undefined) tracked.set(copy, { ref, text: JSON.stringify(copy) })
      return copy
    },
    /** The reference of an unchanged copy. */
    referenceOf(value) {
      const found = tracked.get(value)
      return found !== undefined && JSON.stringify(value) === found.text ? found.ref : undefined
    },
    createError({ name, message, code, cancelled, ref }) {
      const error = new Error(message)
      error.name = cancelled ? 'AbortError' : name
      if (code !== undefined) error.code = code
      if (ref !== undefined) tracked.set(error, { ref })
      return error
    },
    errorReference: (error) => tracked.get(error)?.ref,
  }
}

function sendFailure(channel, id, kind, thrown, ref) {
  channel.send({ t: 'callError', id, kind, message: messageOf(thrown), stack: stackOf(thrown), ref })
}

/** `log.info('text')`, `log.info('text', fields)` or `log.info(fields, 'text')`. */
function parseLogArguments([first, second]) {
  const [text, fields] = typeof first === 'string' ? [first, second] : [second, first]
  return [String(text ?? ''), toJsonFields(fields)]
}

/** Longer fields of a log line are replaced with the beginning of their JSON text. */
const maxFieldChars = 8_000

function toJsonFields(fields) {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined
  try {
    const text = JSON.stringify(fields)
    if (text.length <= maxFieldChars) return JSON.parse(text)
    return { cut: `${text.slice(0, maxFieldChars)}… (${text.length} characters)` }
  } catch (error) {
    return { unreadable: messageOf(error) }
  }
}
