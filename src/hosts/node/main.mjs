/**
 * The process in which handlers in TypeScript and JavaScript run. Speaks the protocol of `../wire.ts`: lines from the
 * gateway on file descriptor 3, lines to it on 4. Plain JavaScript, with few imports, so that it starts fast.
 *
 * `process` is the global one throughout: importing it opens stdout and stderr, which costs 3 MB and makes them
 * non-blocking for handlers that write to the descriptors.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Socket } from 'node:net'
import { createCall } from './call.mjs'
import { createModules } from './modules.mjs'
import { messageOf, stackOf } from './thrown.mjs'
import { createWire } from './wire.mjs'

const { cacheFolder, maxFrameBytes } = JSON.parse(process.argv[2] ?? '{}')
// What handlers see as the arguments of the program is not theirs.
process.argv.length = 2

const wire = createWire(maxFrameBytes)
const modules = createModules(cacheFolder)
/** The call that a piece of code belongs to, so that what goes astray can be put down to a handler. */
const running = new AsyncLocalStorage()
const calls = new Map()

const handlers = {
  async load({ id, ...module }) {
    const { problem, files } = await modules.load(module)
    wire.send(problem === undefined ? { t: 'loaded', id, files } : { t: 'unloadable', id, ...problem, files })
  },
  async call(frame) {
    const call = createCall(frame, wire)
    calls.set(frame.id, call)
    const fn = modules.find(frame.module, frame.fn)
    await running.run(call, () => call.run(fn))
    calls.delete(frame.id)
  },
  cancel({ id }) {
    wire.send({ t: 'where', id, stack: '' })
    calls.get(id)?.cancel()
    wire.cancel(id)
  },
  answer: (frame) => wire.answered(frame),
  refusal: (frame) => wire.answered(frame),
}

let rest = ''
const input = new Socket({ fd: 3, readable: true, writable: false })
input.setEncoding('utf8')
input.on('data', (text) => {
  rest += text
  if (!text.includes('\n')) return
  const lines = rest.split('\n')
  rest = lines.pop()
  for (const line of lines) {
    const frame = JSON.parse(line)
    void handlers[frame.t](frame)
  }
})
// The gateway is done with this host, or gone.
input.on('close', () => process.exit(0))

const stray = (what) => (error) => {
  const { module } = running.getStore() ?? {}
  wire.log(module, 'error', `${what}: ${stackOf(error) || messageOf(error)}`)
}
process.on('unhandledRejection', stray('a rejection that nobody handled'))
process.on('uncaughtException', stray('an error that nobody caught'))
process.on('exit', () => wire.send({ t: 'bye', call: running.getStore()?.id }))

wire.send({ t: 'hello', runtime: process.version })
