/**
 * Fills the compile cache of an image while it is built: runs the daemon in throw-away homes, lets it answer, stops it.
 * Code that is compiled here need not be compiled at any start; what is not used here still works, only slower.
 *
 *     node src/packages/warm-compile-cache.mjs <folder of the cache>
 *
 * Ends with 1 when the daemon did not start, answer and stop as it should: such an image must not be built.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../main.mjs', import.meta.url))
const daemonArgs = ['--max-semi-space-size=4', '--max-old-space-size=512', main, 'gateway', 'run']
const cacheDirectory = resolve(process.argv[2] ?? '.cache')
const timeoutMs = 60_000

/** Nobody listens there: the call fails, and by then the package that made it is loaded and compiled. */
const unreachableProvider = 'base_url: http://127.0.0.1:9/v1\napi_key: none\nmodel: none\nagent: { max_retries: 0 }\n'

/** One life each: the demonstration with a tool, then each vendor's package. */
const scenarios = [
  { config: 'provider: demo\n', status: 200 },
  { config: `provider: openai\n${unreachableProvider}`, status: 502 },
  { config: `provider: anthropic\n${unreachableProvider}`, status: 502 },
]

/**
 * @param {string} home
 * @param {string} config
 * @param {number} status what the one request of this life is answered with
 */
async function runScenario(home, config, status) {
  await writeFile(join(home, 'config.yaml'), config, { mode: 0o600 })
  const child = spawn(process.execPath, daemonArgs, {
    env: { ...createEnvironment(home), HERMES_HTTP_PORT: '0', HERMES_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)))
  const killTimer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  try {
    const url = await readDaemonUrl(child.stdout)
    const token = (await readFile(join(home, 'gateway.token'), 'utf8')).trim()
    const responseStatus = await requestCompletion(url, token)
    if (responseStatus !== status) throw new Error(`the daemon answered ${responseStatus} where ${status} was expected`)
    child.kill('SIGTERM')
    const code = await ended
    if (code !== 0) throw new Error(`the daemon ended with ${code}`)
  } finally {
    clearTimeout(killTimer)
    child.kill('SIGKILL')
    await ended
  }
}

/** Nothing of the machine that builds. @param {string} home */
function createEnvironment(home) {
  const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
  return { PATH: path, HOME: home, HERMES_HOME: home, NODE_COMPILE_CACHE: cacheDirectory }
}

/**
 * The first address on stdout; the daemon prints it when it is ready.
 * @param {import('node:stream').Readable} stdout
 */
async function readDaemonUrl(stdout) {
  let printed = ''
  stdout.setEncoding('utf8')
  for await (const piece of stdout.iterator({ destroyOnReturn: false })) {
    printed += piece
    const url = /http:\/\/[\w.:[\]-]+/.exec(printed)?.[0]
    if (url !== undefined) {
      stdout.resume()
      return url
    }
  }
  throw new Error(`the daemon ended before it was ready: ${printed}`)
}

/**
 * Fetches the page and has a message answered. Routes of platforms appear shortly after the daemon is ready.
 * @param {string} url
 * @param {string} token
 */
async function requestCompletion(url, token) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'List the files here.' }], stream: false })
  for (;;) {
    const page = await fetch(url)
    await page.text()
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    await response.text()
    if (response.status !== 503) return response.status
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Commands that people run in a container. @param {string} home */
async function runCliCommands(home) {
  for (const words of [['--version'], ['status'], ['config', 'check']]) {
    const child = spawn(process.execPath, [main, ...words], {
      env: createEnvironment(home),
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    await text(child.stdout)
  }
}

const home = await mkdtemp(join(tmpdir(), 'hermes-fill-'))
try {
  for (const { config, status } of scenarios) await runScenario(home, config, status)
  await runCliCommands(home)
} finally {
  await rm(home, { recursive: true, force: true, maxRetries: 5 })
}
