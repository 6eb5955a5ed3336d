/**
 * The host process for handlers in TypeScript and JavaScript. Implements the protocol of `../protocol.ts`: reads lines from
 * file descriptor 3 and writes lines to 4. Plain JavaScript with few imports, so that it starts fast.
 *
 * Uses the global `process`. Importing it opens stdout and stderr, which costs 3 MB and makes them non-blocking for handlers
 * that write to the descriptors.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Socket } from 'node:net'
import { createCall } from './call.mjs'
import { createChannel } from './channel.mjs'
import { messageOf, stackOf } from './errors.mjs'
import { createModuleLoader } from './module-loader.mjs'
import { capturePrints } from './prints.mjs'

const { cacheFolder, maxFrameBytes } = JSON.parse(process.argv[2] ?? '{}')
// Hides the arguments of the host from handlers.
process.argv.length = 2

const channel = createChannel(maxFrameBytes)
const loader = createModuleLoader(cacheFolder)
/** The call that the running code belongs to, or the module that was loading, so that errors and prints can be attributed. */
const currentCall = new AsyncLocalStorage()
const calls = new Map()
capturePrints(channel, () => currentCall.getStore()?.module)

const frameHandlers = {
  async load({ id, ...module }) {
    const { problem, files } = await currentCall.run({ module: module.module }, () => loader.load(module))
    channel.send(problem === undefined ? { t: 'loadResult', id, files } : { t: 'loadError', id, ...problem, files })
  },
  async call(frame) {
    const call = createCall(frame, channel)
    calls.set(frame.id, call)
    const fn = loader.find(frame.module, frame.fn)
    await currentCall.run(call, () => call.run(fn))
    calls.delete(frame.id)
  },
  cancel({ id }) {
    channel.send({ t: 'cancelAck', id, stack: '' })
    calls.get(id)?.cancel()
    channel.cancel(id)
  },
  result: (frame) => channel.resolve(frame),
  error: (frame) => channel.resolve(frame),
}

let partialLine = ''
const input = new Socket({ fd: 3, readable: true, writable: false })
input.setEncoding('utf8')
input.on('data', (text) => {
  partialLine += text
  if (!text.includes('\n')) return
  const lines = partialLine.split('\n')
  partialLine = lines.pop()
  for (const line of lines) {
    const frame = JSON.parse(line)
    void frameHandlers[frame.t](frame)
  }
})
// The gateway has stopped this host or has exited.
input.on('close', () => process.exit(0))

const logUncaught = (kind) => (error) => {
  const { module } = currentCall.getStore() ?? {}
  channel.log(module, 'error', `${kind}: ${stackOf(error) || messageOf(error)}`)
}
process.on('unhandledRejection', logUncaught('unhandled rejection'))
process.on('uncaughtException', logUncaught('uncaught exception'))
process.on('exit', () => channel.send({ t: 'exit', call: currentCall.getStore()?.id }))

channel.send({ t: 'ready', runtime: process.version })
