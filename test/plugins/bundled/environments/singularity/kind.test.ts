/**
 * Instances of Apptainer. A small program stands in for it, which really runs commands in bubblewrap: Debian has no Apptainer.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import {
  createSingularityKind,
  type SingularitySettings,
} from '../../../../../plugins/environments/singularity/kind.ts'
import type { Environment, ExecuteOptions } from '../../../../../src/agent/environments/environment.ts'
import type { EnvironmentRequest } from '../../../../../src/agent/environments/kind.ts'
import { isHermesError } from '../../../../../src/lib/errors.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { sleep } from '../../../../../src/lib/timers.ts'
import { openEnvironment, toRequest } from '../../../../kit/environment-kind.ts'

const never = new AbortController().signal
const limits = (more: Partial<ExecuteOptions> = {}): ExecuteOptions => ({
  ...{ timeoutMs: 60_000, signal: never, maxOutputBytes: 10_000 },
  ...more,
})

function findProblem(): string | false {
  try {
    execFileSync('bwrap', ['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', 'true'], { stdio: 'ignore' })
    return existsSync('/usr/lib64') || existsSync('/usr/lib') ? false : 'this machine has no /usr/lib'
  } catch {
    return 'bubblewrap does not work here, in which the stand-in for apptainer runs commands'
  }
}

describe('instances of Apptainer', { skip: findProblem() }, () => {
  let directory = ''
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hermes-singularity-'))
    await mkdir(join(directory, 'bin'))
    const program = new URL('../../../../kit/programs/fake-apptainer.sh', import.meta.url)
    await copyFile(program, join(directory, 'bin', 'apptainer'))
  })
  after(() => rm(directory, { recursive: true, force: true }))

  const state = (name: string) => join(directory, 'bin', 'state', name)
  const requestOf = (settings: Partial<SingularitySettings> = {}): EnvironmentRequest<SingularitySettings> =>
    toRequest({
      sessionId: 'session-1',
      cwd: '',
      variables: { PASSED: 'yes' },
      withheld: [],
      home: join(directory, 'home'),
      stateDirectory: join(directory, 'home', 'state'),
      attachmentsDirectory: join(directory, 'home', 'media'),
      log: silentLog,
      gatewayEnv: { PATH: `${join(directory, 'bin')}:/usr/bin:/bin`, OPENAI_API_KEY: 'gateway' },
      settings: {
        singularity_image: 'docker://example/image:1',
        singularity_scratch_dir: join(directory, 'scratch'),
        docker_forward_env: [],
        docker_network: true,
        container_persistent: true,
        container_cpu: 1,
        container_memory: 512,
        ...settings,
      },
    })
  function open(
    context: TestContext,
    settings: Partial<SingularitySettings> = {},
    kind = createSingularityKind(),
  ): Environment {
    const environment = openEnvironment(kind, requestOf(settings))
    context.after(() => environment.cleanup())
    return environment
  }

  test('commands and files share a workspace, without variables of the gateway', async (context) => {
    const environment = open(context)
    await environment.files?.writeAtomic('a.txt', 'one\n', { signal: never })
    const { output, exitCode } = await environment.execute('pwd; cat a.txt; env; exit 4', limits())
    assert.equal(exitCode, 4)
    assert.match(output, /^\/workspace\none\n/)
    assert.match(output, /^PASSED=yes$/m)
    assert.doesNotMatch(output, /gateway/)
    const workspace = join(directory, 'scratch', 'places', 'shared', 'workspace')
    assert.equal(await readFile(join(workspace, 'a.txt'), 'utf8'), 'one\n')
    const starts = await readFile(state('starts'), 'utf8')
    assert.match(starts, /--containall --no-home --cleanenv .*--overlay /)
    // The second start does without what the installation has refused.
    assert.equal(starts.trim().split('\n').length, 2)
    assert.doesNotMatch(starts.trim().split('\n')[1] ?? '', /--pids-limit/)
  })

  test('the files of a conversation without persistence are removed with its instance', async (context) => {
    const environment = open(context, { container_persistent: false })
    await environment.execute('echo x > file', limits())
    await environment.cleanup()
    const places = await readdir(join(directory, 'scratch', 'places'))
    assert.deepEqual(
      places.filter((name) => name !== 'shared'),
      [],
    )
    assert.match(await readFile(state('starts'), 'utf8'), /--writable-tmpfs/)
  })

  test('an instance that ends while a command runs is an error, and the next command starts another', async (context) => {
    const environment = open(context)
    const begun = join(directory, 'scratch', 'places', 'shared', 'workspace', 'begun')
    const lost = environment.execute('touch begun; sleep 100', limits())
    lost.catch(() => undefined)
    while (!existsSync(begun)) await sleep(10)
    const [file = ''] = (await readdir(state('.'))).filter((name) => name.endsWith('.instance'))
    execFileSync(join(directory, 'bin', 'apptainer'), [
      'instance',
      'stop',
      '--timeout',
      '2',
      file.replace('.instance', ''),
    ])
    await assert.rejects(lost, (error) => isHermesError(error, 'environment/lost'))
    assert.equal((await environment.execute('echo again', limits())).output, 'again\n')
  })

  test('what a killed gateway has left is stopped, and instances of others are not', async (context) => {
    const left = openEnvironment(createSingularityKind(), requestOf())
    await left.execute('true', limits())
    await writeFile(state('hermes-other-1.instance'), '')
    const kind = createSingularityKind()
    await kind.recover?.(requestOf(), never)
    const names = (await readdir(state('.'))).filter((name) => name.endsWith('.instance'))
    assert.deepEqual(names, ['hermes-other-1.instance'])
    assert.equal((await open(context, {}, kind).execute('echo on', limits())).output, 'on\n')
  })

  test('an image that cannot be fetched, and a missing program, are errors that say so', async (context) => {
    for (const singularity_image of ['docker://example/missing:1', '/nowhere/image.sif'])
      await assert.rejects(open(context, { singularity_image }).execute('true', limits()), (error) =>
        isHermesError(error, 'environment/no-image'),
      )
    const request = { ...requestOf(), gatewayEnv: { PATH: '/nowhere' } }
    const check = await createSingularityKind().check?.(request, never)
    assert.equal(check?.ok === false && check.code, 'environment/no-client')
    assert.equal((await createSingularityKind().check?.(requestOf(), never))?.ok, true)
  })
})
