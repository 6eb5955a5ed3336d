/**
 * One call of a handler: its arguments, what it may ask of the gateway, how it ends.
 */
import { messageOf, stackOf } from './thrown.mjs'

/** What a handler gets as its last argument. Made on demand: most handlers look at none of it. */
class Services {
  #call
  #gateway
  constructor(call) {
    this.#call = call
  }
  /** Aborts when the call should end: its time is over, or its caller gave up. */
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

export function createCall(frame, wire) {
  const { id, module } = frame
  const copies = createCopies()
  let controller
  let over = false

  const request = async (method, args) => {
    if (over) throw new Error(`${method}: the call it belongs to is over`)
    const refs = args.flatMap((arg, index) => {
      const ref = copies.unchanged(arg)
      return ref === undefined ? [] : [[index, ref]]
    })
    const kept = new Set(refs.map(([index]) => index))
    const sent = args.map((arg, index) => (kept.has(index) ? null : arg))
    const answer = await wire.request({ t: 'request', call: id, method, args: sent, refs }, wire.sendValue)
    if (answer.t === 'refusal') throw copies.error(answer.error)
    return copies.note(answer.value, answer.ref)
  }
  const log = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((level) => [level, (...said) => wire.log(module, level, ...spoken(said))]),
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
    /** Runs the handler and reports how it ended. Never rejects. */
    async run(fn) {
      let value
      try {
        if (fn === undefined) return fail(wire, id, 'unloadable', new Error(`it exports no function ${frame.fn}`))
        value = await fn(...argumentsOf(frame, call, copies))
      } catch (error) {
        const ref = copies.thrown(error)
        return fail(wire, id, 'threw', error, ref)
      } finally {
        over = true
      }
      try {
        finish(value)
      } catch (error) {
        fail(wire, id, 'unserialisable', new Error(`its result cannot be sent: ${messageOf(error)}`))
      }
    },
  }

  const finish = (value) => {
    if (frame.discard) return wire.send({ t: 'done', id })
    const ref = copies.unchanged(value)
    if (ref !== undefined) return wire.send({ t: 'done', id, ref })
    if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`it is a ${typeof value}`)
    wire.sendValue({ t: 'done', id, value })
  }
  return call
}

function argumentsOf(frame, call, copies) {
  const { args, keywords, callbacks = [], refs = [] } = frame
  for (const [place, ref] of refs) copies.note(typeof place === 'number' ? args[place] : keywords[place], ref)
  const given = [...args]
  if (keywords !== undefined || callbacks.length > 0) {
    const functions = callbacks.map((name) => [name, (...values) => call.request(name, values)])
    given.push({ ...keywords, ...Object.fromEntries(functions) })
  }
  if (frame.services) given.push(new Services(call))
  return given
}

/** The copies of one call, and what they stand for. */
function createCopies() {
  const known = new Map()
  return {
    /** Remembers a copy as it is now. */
    note(copy, ref) {
      if (ref !== undefined) known.set(copy, { ref, text: JSON.stringify(copy) })
      return copy
    },
    /** The reference of a copy that nobody has changed. */
    unchanged(value) {
      const found = known.get(value)
      return found !== undefined && JSON.stringify(value) === found.text ? found.ref : undefined
    },
    error({ name, message, code, cancelled, ref }) {
      const error = new Error(message)
      error.name = cancelled ? 'AbortError' : name
      if (code !== undefined) error.code = code
      if (ref !== undefined) known.set(error, { ref })
      return error
    },
    thrown: (error) => known.get(error)?.ref,
  }
}

function fail(wire, id, kind, thrown, ref) {
  wire.send({ t: 'failed', id, kind, message: messageOf(thrown), stack: stackOf(thrown), ref })
}

/** `log.info('text')`, `log.info('text', fields)` or `log.info(fields, 'text')`. */
function spoken([first, second]) {
  const [text, fields] = typeof first === 'string' ? [first, second] : [second, first]
  return [String(text ?? ''), plain(fields)]
}

/** Fields of a line that are longer than this become the beginning of their text. */
const maxFieldChars = 8_000

function plain(fields) {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined
  try {
    const text = JSON.stringify(fields)
    if (text.length <= maxFieldChars) return JSON.parse(text)
    return { cut: `${text.slice(0, maxFieldChars)}… (${text.length} characters)` }
  } catch (error) {
    return { unreadable: messageOf(error) }
  }
}
