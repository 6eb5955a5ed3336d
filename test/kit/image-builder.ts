/**
 * Builds and runs the image with the buildah of this machine, on a base that is made of its Debian packages, its npm and the Node of
 * the project: the official image comes from a registry that a machine for tests may not reach. The storage is its own.
 */
import { execFile, execFileSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findProgram } from '../../src/lib/find-program.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const certificates = '/etc/ssl/certs/ca-certificates.crt'
const tag = 'localhost/hermes-gateway'

/** What the instructions of the Dockerfile call, with the libraries of Node. */
const debianPackages =
  'base-files base-passwd bash dash coreutils tar gzip passwd login libc6 libpam0g libaudit1 libcap-ng0 libselinux1 libpcre2-8-0 libsemanage2 libsepol2 libsepol1 libbz2-1.0 libacl1 libattr1 libgmp10 libtinfo6 libstdc++6 libgcc-s1 libcrypt1 libzstd1 liblzma5 zlib1g libmd0 ca-certificates'

export interface BuiltImage {
  /** What a command prints in a container of the image. Rejects when it fails. */
  inside(...command: string[]): Promise<string>
  /** MB, with the base and without. */
  readonly sizeMb: number
  readonly addedMb: number
}

/** Why no image can be built here; undefined if one can. */
export function whyNoImage(): string | undefined {
  const path = process.env['PATH'] ?? ''
  for (const name of ['buildah', 'dpkg', 'npm'])
    if (findProgram(name, path) === undefined) return `${name} is not installed`
  if (process.getuid?.() !== 0) return 'only root can build an image without a container engine'
  try {
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: certificates }
    execFileSync('npm', ['view', 'zod', 'version', '--fetch-retries=0'], { env, stdio: 'ignore', timeout: 20_000 })
    return undefined
  } catch {
    return 'npm reaches no registry'
  }
}

/** @param folder an empty one */
export async function buildImage(folder: string): Promise<BuiltImage> {
  const place = (name: string) => join(folder, name)
  writeFileSync(place('policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}')
  writeFileSync(place('storage.conf'), '[storage]\ndriver = "vfs"\n')
  const env = { PATH: process.env['PATH'], HOME: folder, CONTAINERS_STORAGE_CONF: place('storage.conf') }
  const buildah = async (command: string, ...args: string[]) => {
    const storage = ['--root', place('root'), '--runroot', place('run'), command]
    const { stdout } = await run('buildah', [...storage, ...args], { env, maxBuffer: 64 * 1_048_576 })
    return stdout.trim()
  }
  const policy = ['--signature-policy', place('policy.json')]
  const build = ['--isolation', 'chroot', '--pull-never', ...policy]
  makeBase(place('base'))
  writeFileSync(place('Base'), `FROM scratch\nCOPY . /\nENV NODE_EXTRA_CA_CERTS=${certificates}\n`)
  await buildah('bud', ...build, '-f', place('Base'), '-t', 'localhost/node:local', place('base'))
  const args = ['--build-arg', 'NODE=local', '--build-arg', 'PYTHON=0']
  await buildah('bud', ...build, ...args, '-t', tag, '-f', join(root, 'Dockerfile'), root)
  const container = await buildah('from', '--pull-never', ...policy, tag)
  const size = async (name: string) => JSON.parse(await buildah('images', '--json', name))[0].size
  const [whole, base] = [megabytes(await size(tag)), megabytes(await size('localhost/node:local'))]
  return {
    inside: (...command) => buildah('run', '--isolation', 'chroot', container, '--', ...command),
    sizeMb: whole,
    addedMb: whole - base,
  }
}

/** `240 MB` or `1.2 GB`. */
function megabytes(text: string): number {
  const [value = '', unit] = text.split(' ')
  return Number(value) * (unit === 'GB' ? 1_000 : 1)
}

function makeBase(folder: string): void {
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    mkdirSync(join(folder, 'usr', name), { recursive: true })
    symlinkSync(`usr/${name}`, join(folder, name))
  }
  for (const name of ['etc', 'proc', 'sys', 'dev', 'run', 'root', 'usr/local/bin', 'usr/local/lib/node_modules'])
    mkdirSync(join(folder, name), { recursive: true })
  mkdirSync(join(folder, 'tmp'), { mode: 0o1777 })
  const installed = debianPackages
    .split(' ')
    .filter(
      (name) =>
        existsSync(`/var/lib/dpkg/info/${name}.list`) ||
        existsSync(`/var/lib/dpkg/info/${name}:${architecture()}.list`),
    )
  for (const path of new Set(execFileSync('dpkg', ['-L', ...installed], { encoding: 'utf8' }).split('\n'))) {
    const status = path === '' ? undefined : lstatSync(path, { throwIfNoEntry: false })
    if (status === undefined || status.isDirectory() || existsSync(join(folder, path))) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    if (status.isSymbolicLink()) symlinkSync(readlinkSync(path), join(folder, path))
    else if (status.isFile()) copyFileSync(path, join(folder, path))
  }
  for (const name of ['passwd', 'group', 'shadow', 'ssl'])
    cpSync(join('/etc', name), join(folder, 'etc', name), { recursive: true, dereference: true })
  writeFileSync(join(folder, 'etc/gshadow'), '')
  cpSync(process.execPath, join(folder, 'usr/local/bin/node'))
  const npm = dirname(dirname(realpathSync(findProgram('npm', process.env['PATH'] ?? '') ?? '')))
  if (!statSync(join(npm, 'bin/npm-cli.js')).isFile()) throw new Error(`${npm} is no installation of npm`)
  cpSync(npm, join(folder, 'usr/local/lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(folder, 'usr/local/bin/npm'))
}

function architecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch
}
