/**
 * Fills a compile cache: runs the daemon in a temporary home, sends it a request and stops it. Code that is compiled here is
 * not compiled at a later start. Code that does not run here still works and is compiled at its first use.
 *
 *     node src/packages/warm-compile-cache.mjs <directory of the cache>
 *
 * The exit code is 1 if the daemon did not start, respond and stop as expected.
 */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../main.mjs', import.meta.url))
// The daemon restarts itself with its V8 flags, on which the entries of the cache depend.
const daemonArgs = [main, 'gateway', 'run']
const cacheDirectory = resolve(process.argv[2] ?? '.cache')
const timeoutMs = 60_000

/** The code of responses before the platform of the API is connected. */
const notReadyCode = 'http/starting'

/** The offline demonstration answers. @param {string} home */
async function runDaemon(home) {
  await writeFile(join(home, 'config.yaml'), 'provider: demo\n', { mode: 0o600 })
  const child = spawn(process.execPath, daemonArgs, {
    env: { ...createEnvironment(home), HERMES_HTTP_PORT: '0', HERMES_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // The installation ends this program when it takes too long. The daemon must not go on without it.
  const stop = () => {
    child.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true })
    process.exit(1)
  }
  process.once('SIGTERM', stop)
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)))
  const killTimer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  try {
    const url = await readDaemonUrl(child.stdout)
    const token = (await readFile(join(home, 'gateway.token'), 'utf8')).trim()
    const status = await requestCompletion(url, token)
    if (status !== 200) throw new Error(`the daemon responded with ${status}`)
    child.kill('SIGTERM')
    const code = await ended
    if (code !== 0) throw new Error(`the daemon exited with ${code}`)
  } finally {
    clearTimeout(killTimer)
    process.off('SIGTERM', stop)
    child.kill('SIGKILL')
    await ended
  }
}

/** Variables of the machine that builds are left out. @param {string} home */
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
  throw new Error(`the daemon exited before it was ready: ${printed}`)
}

/**
 * Fetches the page and sends a message. Routes of platforms appear shortly after the daemon is ready.
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
    const { error } = await response.json()
    if (error?.code !== notReadyCode) return response.status
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Commands that users run often. @param {string} home */
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
  await runDaemon(home)
  await runCliCommands(home)
} finally {
  await rm(home, { recursive: true, force: true, maxRetries: 5 })
}
