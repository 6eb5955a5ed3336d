/**
 * `hermes update`: installs another version of the package by npm, after a backup, and says how to go back.
 */
import { createReadStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { createGunzip } from 'node:zlib'
import { HermesError } from '../lib/errors.ts'
import { readTar } from '../lib/tar-reader.ts'
import { toVisibleLines } from '../lib/visible-text.ts'
import { writeBackup } from './backup/write-backup.ts'
import type { CliContext } from './kit/context.ts'
import { isProcessAlive, readPidFile } from './kit/daemon.ts'
import { confirmChange } from './kit/questions.ts'
import { runProgram } from './kit/run-program.ts'

export interface UpdateOptions {
  /** Shows what is new, and changes nothing. */
  readonly check: boolean
  /** A version, also an older one; the newest if left out. */
  readonly to?: string | undefined
  readonly yes: boolean
}

const packageName = 'hermes-gateway'
const versionPattern = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/

/** Rejects `cli/failed`, `cli/usage` without a confirmation, and as `writeBackup` does. */
export async function update(context: CliContext, { check, to, yes }: UpdateOptions): Promise<void> {
  const { output, version, home } = context
  const prefix = npmPrefixOf(context.program)
  const folder = mkdtempSync(join(tmpdir(), 'hermes-update-'))
  try {
    // In the folder of a project, npm would ask the registry that the project names.
    const npm = (args: readonly string[]) => runNpm(context, folder, args)
    const target = to ?? (await npm(['view', packageName, 'version'])).trim()
    if (!versionPattern.test(target)) throw new HermesError('cli/usage', `${JSON.stringify(target)} is no version.`)
    if (target === version) return void output.write(`Version ${version} is installed already.\n`)
    const packed = await npm(['pack', `${packageName}@${target}`, '--silent', '--pack-destination', folder])
    const archive = join(folder, packed.trim().split('\n').at(-1) ?? '')
    const news = newsSince(version, await readChangelog(archive))
    output.write(
      `Installed: ${version}. To be installed: ${target}.\n${news === '' ? '' : `\n${toVisibleLines(news)}\n\n`}`,
    )
    if (check) return
    if (!yes && !(await confirmChange(context, `Install version ${target}?`))) return
    const { file } = await writeBackup(context, { media: false, secrets: true })
    output.write(`Wrote the backup ${file}.\n`)
    await install(context, npm, { prefix, what: archive, target })
    output.write(
      `Installed version ${target}. To go back: \`hermes gateway stop\`, \`hermes update --to ${version}\`, and\n`,
    )
    output.write(`\`hermes restore ${file}\`, which also brings back what was before the update.\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const daemon = readPidFile(home)
  if (daemon === undefined || !isProcessAlive(daemon.pid)) return
  const restarted = await runHermes(context, ['gateway', 'restart'])
  output.write(restarted.stdout)
  if (restarted.code !== 0)
    throw new HermesError('cli/failed', `The gateway was not restarted: ${restarted.stderr.trim()}`)
}

interface Installed {
  readonly prefix: string
  /** An archive, or a name with a version. */
  readonly what: string
  readonly target: string
}

/** Installs the version before again if the new one does not start. */
async function install(
  context: CliContext,
  npm: (args: readonly string[]) => Promise<string>,
  { prefix, what, target }: Installed,
): Promise<void> {
  const { version } = context
  const installGlobally = (each: string) => npm(['install', '--global', '--prefix', prefix, each])
  await installGlobally(what)
  const { stdout, stderr } = await runHermes(context, ['--version'])
  if (stdout.trim() === target) return
  await installGlobally(`${packageName}@${version}`)
  const reason = stderr.trim().split('\n')[0] ?? ''
  throw new HermesError('cli/failed', `Version ${target} does not start, so version ${version} is back. ${reason}`)
}

/** The folder into which npm has installed this program for all projects. Throws `cli/failed` for another installation. */
function npmPrefixOf([, main = '']: readonly string[]): string {
  const folders = `${join(sep, 'lib', 'node_modules', packageName)}${sep}`
  const at = main.lastIndexOf(folders)
  if (at > 0) return main.slice(0, at)
  throw new HermesError('cli/failed', `${main} was not installed by \`npm install --global\`.`, {
    hint: 'docs/how-to/upgrade.md says how to update a checkout and a container. npx takes the newest version itself.',
  })
}

function runHermes({ program: [node = '', ...main], environment, home }: CliContext, words: readonly string[]) {
  return runProgram(node, [...main, ...words], { environment: { ...environment, HERMES_HOME: home.root } })
}

/** Returns what it printed. Rejects `cli/failed` with the reason that npm gives. */
async function runNpm({ environment }: CliContext, cwd: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram('npm', args, { environment, cwd })
  if (code === 0) return stdout
  const reason = stderr.split('\n').find((line) => line.trim() !== '') ?? ''
  throw new HermesError('cli/failed', `npm ${args[0]}: ${reason}`)
}

async function readChangelog(archive: string): Promise<string> {
  const unpacked = createGunzip()
  const packed = createReadStream(archive)
  packed.once('error', (error) => unpacked.destroy(error))
  packed.pipe(unpacked)
  try {
    for await (const { name, content } of readTar(unpacked)) {
      if (name !== 'package/dist/CHANGELOG.md') continue
      const chunks: Buffer[] = []
      for await (const chunk of content) chunks.push(chunk)
      return Buffer.concat(chunks).toString('utf8')
    }
    return ''
  } finally {
    packed.destroy()
  }
}

/** The sections above that of a version; nothing if it has none, as in an older changelog. */
function newsSince(version: string, changelog: string): string {
  const sections = changelog.split(/^(?=## \d)/m).slice(1)
  const at = sections.findIndex(
    (section) => section.startsWith(`## ${version} `) || section.startsWith(`## ${version}\n`),
  )
  return at === -1 ? '' : sections.slice(0, at).join('').trim()
}
