/**
 * A user with secrets and a gateway, on a disk of their own, and a sandboxed environment for the commands of the agent. Every
 * secret contains the canary.
 */
import { createHash, randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileGuard, type FileGuard } from '../../../src/agent/command-policy/file-guard.ts'
import type { Environment, ExecuteResult } from '../../../src/agent/environments/environment.ts'
import { createLocalEnvironment } from '../../../src/agent/environments/local-environment.ts'
import { createLocalFiles } from '../../../src/agent/environments/local-files.ts'
import { type DetectSandboxOptions, detectSandbox } from '../../../src/agent/sandbox/detect-sandbox.ts'
import type { Sandbox } from '../../../src/agent/sandbox/sandbox.ts'
import { findProgram } from '../../../src/lib/find-program.ts'
import { silentLog } from '../../../src/lib/log.ts'

/** Another one in each test process: attacks search the whole machine, and find the victims of other processes. */
export const canary = `CANARY-${randomBytes(4).toString('hex')}`
export const searchPath = '/usr/local/bin:/usr/bin:/bin'

/** Below the home directory of the victim. */
const secretFiles = [
  ...['.hermes/.env', '.hermes/gateway.token', '.hermes/config.yaml', '.hermes/state.db', '.hermes/logs/gateway.log'],
  ...['.hermes/media/1-1-aa.png', '.hermes/profiles/work/.env', '.hermes/memories/USER.md', '.ssh/id_ed25519'],
  ...['.aws/credentials', '.netrc', '.npmrc', '.git-credentials', '.config/gh/hosts.yml', '.bash_history'],
  ...['.config/google-chrome/Default/Cookies', '.mozilla/firefox/x/logins.json', '.password-store/bank.gpg'],
  ...['.gnupg/private-keys-v1.d/a.key', '.kube/config', '.docker/config.json', '.config/gcloud/credentials.db'],
]
/** What other programs load, and ordinary files outside of the working directory. */
const preciousFiles = [
  ...['.bashrc', '.profile', '.zshrc', '.gitconfig', '.config/autostart/a.desktop', '.config/systemd/user/a.service'],
  ...[
    '.local/bin/tool',
    '.hermes/plugins/good/plugin.yaml',
    '.hermes/hooks/good/HOOK.yaml',
    '.hermes/skills/s/SKILL.md',
  ],
  ...['documents/thesis.txt', 'photos/1.jpg', '.vimrc', 'bin/mine'],
]

export interface Victim extends AsyncDisposable {
  readonly userHome: string
  readonly home: string
  /** The working directory of the agent. */
  readonly cwd: string
  readonly sandbox: Sandbox
  readonly fileGuard: FileGuard
  readonly environment: Environment
  run(command: string, more?: Partial<Parameters<Environment['execute']>[1]>): Promise<ExecuteResult>
  /** A digest of every file that the agent must not change. */
  fingerprint(): string
}

export interface VictimOptions extends Partial<DetectSandboxOptions> {
  /** Below the home directory of the victim. Default: the workspace of the gateway. */
  readonly workingDirectory?: string
  /** More files below the home directory of the victim, with their texts. They exist before the sandbox opens. */
  readonly files?: Readonly<Record<string, string>>
  /** Changes the home directory of the victim before the sandbox opens. */
  readonly prepare?: (userHome: string) => void
  /** The forwarder, for the directory of programs that commands see. */
  readonly forwarderOf?: (directory: string) => readonly string[]
}

export async function createVictim({
  workingDirectory,
  files = {},
  prepare,
  forwarderOf,
  ...options
}: VictimOptions = {}): Promise<Victim> {
  // It is not below /tmp, which the sandbox replaces.
  const root = await realpath(await mkdtemp(join(import.meta.dirname, '../../../.victim-')))
  const userHome = join(root, 'me')
  const home = join(userHome, '.hermes')
  const cwd = join(userHome, workingDirectory ?? '.hermes/workspace')
  for (const file of [...secretFiles, ...preciousFiles]) {
    mkdirSync(join(userHome, file, '..'), { recursive: true })
    writeFileSync(join(userHome, file), secretFiles.includes(file) ? `SECRET=${canary}\n` : `# ${file}\n`)
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(userHome, name, '..'), { recursive: true })
    writeFileSync(join(userHome, name), text, { mode: 0o755 })
  }
  prepare?.(userHome)
  mkdirSync(cwd, { recursive: true })
  mkdirSync(join(home, 'cache/sandbox/bin'), { recursive: true })
  const sandbox = await detectSandbox({
    setting: 'auto',
    home,
    userHome,
    cwd,
    read: [],
    write: [],
    searchPath,
    sharesNetwork: true,
    temporaryDirectory: join(home, 'cache/sandbox/tmp'),
    binDirectory: join(home, 'cache/sandbox/bin'),
    maxProcesses: 256,
    maxMemoryMb: 1_024,
    platform: process.platform,
    log: silentLog,
    ...(forwarderOf && { forwarder: forwarderOf(join(home, 'cache/sandbox/bin')) }),
    ...options,
  })
  const fileGuard = createFileGuard({ home, userHome, sandbox: async () => sandbox })
  const environment = createLocalEnvironment({
    cwd,
    env: { PATH: searchPath, HOME: userHome, HERMES_HOME: home },
    graceMs: 100,
    sandbox: async () => sandbox,
    openFiles: async (resolve) => createLocalFiles({ fileGuard, searchPath, sandbox: async () => sandbox }, resolve),
  })
  return {
    userHome,
    home,
    cwd,
    sandbox,
    fileGuard,
    environment,
    run: (command, more = {}) =>
      environment.execute(command, {
        timeoutMs: 60_000,
        signal: new AbortController().signal,
        maxOutputBytes: 1_000_000,
        ...more,
      }),
    fingerprint() {
      const hash = createHash('sha256')
      const visit = (path: string) => {
        if (path === cwd && cwd !== userHome) return
        if (path === join(home, 'cache')) return
        const found = lstatSync(path)
        hash.update(`${path} ${found.mode} `)
        if (found.isSymbolicLink()) hash.update(readlinkSync(path))
        else if (found.isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name))
        else hash.update(readFileSync(path))
      }
      visit(userHome)
      return hash.digest('hex')
    },
    async [Symbol.asyncDispose]() {
      await environment.cleanup()
      await rm(root, { recursive: true, force: true })
    },
  }
}

const sandboxPrograms = {
  bwrap: { program: 'bwrap', name: 'bubblewrap' },
  landlock: { program: 'perl', name: 'perl' },
}

/** The reason for which tests of the real sandbox are skipped; `false` where it works. */
export async function sandboxSkip(kind: 'bwrap' | 'landlock' = 'bwrap'): Promise<string | false> {
  // The gateway looks into the directories of the system, but a run of the tests may only use what its PATH has.
  const { program, name } = sandboxPrograms[kind]
  if (findProgram(program, process.env['PATH'] ?? '') === undefined)
    return `${name} is not on the PATH (apt-get install ${name})`
  await using victim = await createVictim({ setting: kind })
  return victim.sandbox.kind === kind ? false : `this sandbox does not work here: ${victim.sandbox.reason}`
}

/** No sandbox and each kind of this system, with the reason for which its tests are skipped, and the end of their names. */
export async function sandboxLanes() {
  return [
    { sandbox: 'off', missing: false, inSandbox: '' },
    { sandbox: 'bwrap', missing: await sandboxSkip('bwrap'), inSandbox: ', in bubblewrap' },
    { sandbox: 'landlock', missing: await sandboxSkip('landlock'), inSandbox: ', in Landlock' },
  ] as const
}
