/**
 * Containers of a real engine. Skipped, with the reason, where no engine runs containers.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { DockerSettings } from '../../../../../plugins/environments/docker/arguments.ts'
import { createDockerKind } from '../../../../../plugins/environments/docker/kind.ts'
import type { Environment, ExecuteOptions } from '../../../../../src/agent/environments/environment.ts'
import type { EnvironmentRequest } from '../../../../../src/agent/environments/kind.ts'
import { isHermesError } from '../../../../../src/lib/errors.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { sleep } from '../../../../../src/lib/timers.ts'
import { describeEnvironment } from '../../../../agent/environments/contract/contract.ts'
import { openTestEngine, type TestEngine } from '../../../../kit/container-engine.ts'
import { openEnvironment, toRequest } from '../../../../kit/environment-kind.ts'

const { engine: found, reason } = await openTestEngine()
const never = new AbortController().signal
const limits = (more: Partial<ExecuteOptions> = {}): ExecuteOptions => ({
  ...{ timeoutMs: 60_000, signal: never, maxOutputBytes: 10_000 },
  ...more,
})

describe('containers', { skip: found === undefined ? `no engine runs containers here: ${reason}` : false }, () => {
  let home = ''
  before(async () => {
    home = await mkdtemp(join(engine().directory, 'home-'))
  })
  after(() => engine().close())

  function engine(): TestEngine {
    assert.ok(found !== undefined)
    return found
  }

  interface Place {
    readonly sessionId?: string
    readonly settings?: Partial<DockerSettings>
    readonly gatewayEnv?: Readonly<Record<string, string>>
    readonly withheld?: readonly string[]
    announce?(text: string): void
  }

  const requestOf = (place: Place = {}): EnvironmentRequest<DockerSettings> =>
    toRequest({
      sessionId: 'session-1',
      cwd: '',
      variables: {},
      withheld: [],
      home,
      stateDirectory: join(home, 'state'),
      attachmentsDirectory: join(home, 'media'),
      log: silentLog,
      ...place,
      settings: { ...engine().settings, ...place.settings },
      gatewayEnv: { ...engine().env, ...place.gatewayEnv },
    })

  /** An environment that the test cleans up. */
  function open(context: TestContext, place: Place = {}, kind = createDockerKind()): Environment {
    const environment = openEnvironment(kind, requestOf(place))
    context.after(() => environment.cleanup())
    return environment
  }

  const ownContainers = () => engine().containers('hermes-gateway.profile=default')
  const running = async () => (await ownContainers()).filter(({ state }) => state === 'running')
  const workspace = () => join(home, 'sandboxes', 'docker', 'shared', 'workspace')

  test('commands and files share one place, with few rights', async (context) => {
    const environment = open(context)
    await environment.files?.writeAtomic('notes/a.txt', 'one\n', { signal: never })
    const script = 'pwd; cat notes/a.txt; grep -E "CapEff|NoNewPrivs" /proc/self/status; exit 3'
    const { output, exitCode } = await environment.execute(script, limits())
    assert.equal(exitCode, 3)
    const [directory, text, capabilities, privileges] = output.split('\n')
    assert.deepEqual([directory, text], ['/workspace', 'one'])
    // CHOWN, DAC_OVERRIDE and FOWNER.
    assert.match(capabilities ?? '', /000000000000000b$/)
    assert.match(privileges ?? '', /1$/)
    assert.equal(environment.isContainer, true)
    assert.equal(await readFile(join(workspace(), 'notes', 'a.txt'), 'utf8'), 'one\n')
  })

  test('the container of all conversations is stopped with the last of them, and found again', async (context) => {
    const kind = createDockerKind()
    const first = open(context, { sessionId: 'a' }, kind)
    const second = open(context, { sessionId: 'b' }, kind)
    await first.execute('touch /outside-of-the-workspace', limits())
    assert.equal((await second.execute('ls /outside-of-the-workspace', limits())).exitCode, 0)
    await first.cleanup()
    assert.equal((await running()).length, 1)
    await second.cleanup()
    assert.equal((await running()).length, 0)
    assert.equal((await open(context).execute('ls /outside-of-the-workspace', limits())).exitCode, 0)
  })

  test('without persistence each conversation has a container of its own, which is removed', async (context) => {
    const kind = createDockerKind()
    const settings = { container_persistent: false }
    const one = open(context, { sessionId: 'x', settings }, kind)
    const two = open(context, { sessionId: 'y', settings }, kind)
    await one.execute('echo secret > /workspace/file', limits())
    assert.notEqual((await two.execute('cat /workspace/file', limits())).exitCode, 0)
    await Promise.all([one.cleanup(), two.cleanup()])
    assert.deepEqual(await engine().containers('hermes-gateway.keep=no'), [])
  })

  test('changed settings replace the container and keep the files of the workspace', async (context) => {
    await open(context).execute('echo kept > /workspace/kept', limits())
    const changed = open(context, { settings: { docker_env: { MODE: 'second' } } })
    const { output } = await changed.execute('cat /workspace/kept; echo $MODE', limits())
    assert.equal(output, 'kept\nsecond\n')
    assert.equal((await ownContainers()).length, 1)
  })

  const shared = createDockerKind()
  let keeper: Environment | undefined
  after(() => keeper?.cleanup())
  describeEnvironment({
    name: 'docker',
    async open() {
      // One container for all tests, each in a folder of its own.
      keeper ??= openEnvironment(shared, requestOf({ sessionId: 'contract' }))
      await keeper.start?.(never)
      const directory = `/workspace/${randomUUID()}`
      const environment = openEnvironment(shared, requestOf({ sessionId: directory }))
      await environment.execute(`mkdir '${directory}'`, limits())
      return { environment, directory, close: async () => undefined }
    },
  })

  test('a command sees the files of its conversation and no others', async (context) => {
    const folder = join(home, 'media', 'in')
    await mkdir(folder, { recursive: true })
    const sent = join(folder, 'sent.txt')
    for (const file of [sent, join(folder, 'other.txt')]) await writeFile(file, 'text\n', { mode: 0o600 })
    const script = `cat ${sent}; ls ${folder}; echo x > ${sent}`
    const { output, exitCode } = await open(context, {}, shared).execute(script, limits({ exposed: [sent] }))
    assert.match(output, /^text\nsent\.txt\n/)
    assert.notEqual(exitCode, 0)
    assert.equal(await readFile(sent, 'utf8'), 'text\n')
  })

  test('commands receive the named variables of the gateway, and none of its own secrets', async (context) => {
    const environment = open(context, {
      settings: { docker_forward_env: ['PROJECT_KEY', 'BOT_TOKEN', 'OPENAI_API_KEY'] },
      gatewayEnv: { PROJECT_KEY: 'forwarded', BOT_TOKEN: 'gateway', OPENAI_API_KEY: 'gateway', OTHER: 'gateway' },
      withheld: ['BOT_TOKEN'],
    })
    const { output } = await environment.execute('env; tr "\\0" "\\n" < /proc/1/environ', limits())
    assert.match(output, /^PROJECT_KEY=forwarded$/m)
    assert.doesNotMatch(output, /=gateway$/m)
    const [{ id } = { id: '' }] = await running()
    assert.doesNotMatch(await engine().order('inspect', id), /forwarded/)
  })

  for (const end of ['kill', 'rm'] as const)
    test(`a container that is ended from outside (${end}) while a command runs is an error, and the next command starts it`, async (context) => {
      const environment = open(context)
      const begun = join(workspace(), `begun-${end}`)
      const lost = environment.execute(`touch begun-${end}; sleep 100`, limits())
      lost.catch(() => undefined)
      while (!existsSync(begun)) await sleep(10)
      const [{ id } = { id: '' }] = await running()
      await engine().order('kill', id)
      if (end === 'rm') await engine().order('rm', '--force', id)
      await assert.rejects(lost, (error) => isHermesError(error, 'environment/lost'))
      assert.equal((await environment.execute('echo again', limits())).output, 'again\n')
    })

  test('an engine that goes away in the middle is an error, and nothing runs on this machine instead', async (context) => {
    const directory = await mkdtemp(join(engine().directory, 'gone-'))
    const gone = join(directory, 'gone')
    const program = join(directory, 'engine')
    const answer = 'echo "Cannot connect to the Docker daemon. Is the docker daemon running?" >&2; exit 1'
    writeFileSync(program, `#!/bin/sh\n[ -e ${gone} ] && { ${answer}; }\nexec ${engine().name} "$@"\n`)
    chmodSync(program, 0o755)
    const environment = open(context, { settings: { docker_binary: program } })
    const lost = environment.execute('touch begun-engine; sleep 100', limits())
    lost.catch(() => undefined)
    while (!existsSync(join(workspace(), 'begun-engine'))) await sleep(10)
    writeFileSync(gone, '')
    const [{ id } = { id: '' }] = await running()
    await engine().order('kill', id)
    await assert.rejects(lost, (error) => isHermesError(error, 'environment/lost'))
    await assert.rejects(environment.execute('true', limits()), (error) =>
      isHermesError(error, 'environment/unreachable'),
    )
    rmSync(gone)
    assert.equal((await environment.execute('echo back', limits())).output, 'back\n')
  })

  test('an image that is missing and cannot be fetched is an error, and people are told of the attempt', async (context) => {
    const told: string[] = []
    const environment = open(context, {
      settings: { docker_image: 'localhost:1/no/such:1' },
      announce: (text) => told.push(text),
    })
    await assert.rejects(environment.execute('true', limits()), (error) => isHermesError(error, 'environment/no-image'))
    assert.equal(told.length, 1)
  })

  test('a missing engine is an error that names it', async (context) => {
    const place = { settings: { docker_binary: 'no-such-engine' } }
    await assert.rejects(
      open(context, place).execute('true', limits()),
      (error) => isHermesError(error, 'environment/no-client') && error.message.includes('no-such-engine'),
    )
    const check = await createDockerKind().check?.(requestOf(place), never)
    assert.equal(check?.ok === false && check.code, 'environment/no-client')
  })

  test('a check names the engine and whether the image is there', async () => {
    const check = await createDockerKind().check?.(requestOf(), never)
    assert.equal(check?.ok, true)
    assert.ok(check?.detail.startsWith(`${engine().name} `))
    assert.ok(check?.detail.includes(engine().settings.docker_image))
  })

  test('a command that starts processes without end meets the limit, and the next command works', async (context) => {
    const environment = open(context)
    const read = 'cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null'
    const limited = await environment.execute(read, limits())
    if (!/^256$/m.test(limited.output)) return context.skip('this machine has no limit of processes for containers')
    const bomb = 'n=0; while [ $n -lt 400 ]; do sleep 300 & n=$((n+1)); done; echo unlimited'
    const result = await environment.execute(bomb, limits({ timeoutMs: 20_000 }))
    assert.doesNotMatch(result.output, /unlimited/)
    // The processes that are left hold the limit, so nothing can start before the container has been stopped.
    const failures: unknown[] = []
    for (let output = ''; output !== 'again\n' && failures.length < 3; )
      try {
        ;({ output } = await environment.execute('echo again', limits()))
      } catch (error) {
        failures.push(error)
      }
    assert.ok(failures.length < 3)
    for (const failure of failures) assert.ok(isHermesError(failure, 'environment/container-failed'), String(failure))
  })

  test('an idle container is stopped, but not while a command runs in the background', async (context) => {
    const environment = open(context, { settings: { lifetime_seconds: 0.3 } })
    const background = await environment.spawn?.('sleep 2', {})
    assert.deepEqual(await background?.exited, { exitCode: 0 })
    while ((await running()).length > 0) await sleep(50)
    assert.equal((await environment.execute('echo awake', limits())).output, 'awake\n')
  })

  test('a killed gateway leaves no command behind: the next one stops its containers and no others', async (context) => {
    const effects = join(workspace(), 'effects')
    const script = new URL('../../../../kit/programs/run-in-container.ts', import.meta.url)
    const { log: _, ...request } = requestOf({ sessionId: 'killed' })
    const command = 'echo begun >> effects; sleep 3; echo ended >> effects'
    const gateway = spawn(process.execPath, [script.pathname, JSON.stringify(request), command], { stdio: 'ignore' })
    while (!existsSync(effects)) await sleep(20)
    gateway.kill('SIGKILL')
    // The labels of another gateway on the same engine.
    const foreign = ['--label', 'hermes-gateway=1', '--label', 'hermes-gateway.home=other']
    const image = engine().settings.docker_image
    const other = (await engine().order('run', '--detach', ...foreign, image, 'sleep', '1000')).trim()
    const kind = createDockerKind()
    await kind.recover?.(requestOf(), never)
    assert.deepEqual(await running(), [])
    const [stranger] = await engine().containers('hermes-gateway.home=other')
    assert.equal(stranger?.state, 'running')
    await engine().order('kill', other)
    await engine().order('rm', '--force', other)
    assert.equal((await open(context, {}, kind).execute('cat effects', limits())).output, 'begun\n')
    await rm(effects)
  })
})
