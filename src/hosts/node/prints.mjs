/**
 * Sends what handlers print as log lines of their module, so that one that prints without end does not silence the others. What no
 * module has printed, and what is written to the file descriptors directly, goes to the pipes of the process.
 */
const maxLineChars = 10_000

/** @param {() => string | undefined} currentModule the module that the running code belongs to */
export function capturePrints(channel, currentModule) {
  const flushes = [
    captureStream('stdout', (module, line) => channel.log(module, 'info', line, { stream: 'stdout' }), currentModule),
    captureStream('stderr', (module, line) => channel.log(module, 'warn', line, { stream: 'stderr' }), currentModule),
  ]
  process.on('exit', () => {
    for (const flush of flushes) flush()
  })
}

/** Replaces the getter, because Node opens a stream with its first use. Returns a function that sends the lines without an end. */
function captureStream(name, sendLine, currentModule) {
  const { get } = Object.getOwnPropertyDescriptor(process, name)
  /** The beginning of a line, by module. */
  const partialLines = new Map()
  let stream

  const print = (module, text) => {
    const lines = text.split('\n')
    lines[0] = (partialLines.get(module) ?? '') + lines[0]
    partialLines.set(module, lines.pop().slice(0, maxLineChars))
    for (const line of lines) if (line.trim() !== '') sendLine(module, line)
  }
  const open = () => {
    const opened = get.call(process)
    const write = opened.write.bind(opened)
    opened.write = (chunk, encoding, callback) => {
      const module = currentModule()
      if (module === undefined) return write(chunk, encoding, callback)
      print(module, typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())
      const done = typeof encoding === 'function' ? encoding : callback
      if (done !== undefined) process.nextTick(done)
      return true
    }
    return opened
  }
  Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => (stream ??= open()) })
  return () => {
    for (const [module, line] of partialLines) if (line.trim() !== '') sendLine(module, line)
  }
}
