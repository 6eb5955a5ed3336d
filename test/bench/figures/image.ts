/**
 * The container image: its size, and the start and the memory of the daemon in it, beside a bare node in the same container. It is
 * built on a base that is made of this machine, so that no registry of images is asked.
 */
import { mkdtempSync } from 'node:fs'
import { daemonFlags } from '../../kit/daemon-command.ts'
import { buildImage, whyNoImage } from '../../kit/image-builder.ts'
import { removeFolder } from '../../kit/remove-folder.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { median } from '../kit/stats.ts'

export const image: Figure = {
  name: 'image',
  about: 'size of the container image, start and idle memory in it',
  measure,
}

interface Life {
  readonly readyMs: number
  readonly memoryMb: number
}

/** Runs in the container: starts a program, waits for a text, and reads its memory when it has rested. */
const program = (rounds: number, idleMs: number) => `
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
const env = { ...process.env, HERMES_HTTP_HOST: '127.0.0.1', HERMES_HTTP_PORT: '0' }
async function live(args) {
  const begun = performance.now()
  const child = spawn('node', args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const isReady = new Promise((resolve) => child.stdout.on('data', (text) => String(text).includes('ready') && resolve(true)))
  if ((await Promise.race([isReady, ended])) !== true) throw new Error('it has ended before it was ready')
  const readyMs = performance.now() - begun
  await new Promise((resolve) => setTimeout(resolve, ${idleMs}))
  const [, kilobytes] = /VmRSS:\\s+(\\d+)/.exec(readFileSync('/proc/' + child.pid + '/status', 'utf8'))
  child.kill('SIGTERM')
  await ended
  return { readyMs, memoryMb: kilobytes / 1024 }
}
const gateway = () => live([...${JSON.stringify(daemonFlags)}, '/app/dist/src/main.mjs', 'gateway', 'run'])
const bare = () => live(['-e', 'console.log("ready"); setTimeout(() => {}, 1e6)'])
await gateway()
const lives = { gateway: [], bare: [] }
for (let round = 0; round < ${rounds}; round++) {
  lives.gateway.push(await gateway())
  lives.bare.push(await bare())
}
console.log(JSON.stringify(lives))`

async function measure({ full, progress }: BenchOptions): Promise<Row[]> {
  const reason = whyNoImage()
  if (reason !== undefined) return rowsOf({ note: `no image can be built: ${reason}` })
  // Its layers are too large for a temporary folder in memory.
  const folder = mkdtempSync('/var/tmp/hermes-image-')
  try {
    progress('builds the image')
    const { inside, sizeMb, addedMb } = await buildImage(folder)
    progress('starts it')
    const printed = await inside('node', '--input-type=module', '-e', program(full ? 9 : 3, full ? 30_000 : 8_000))
    const lives: { readonly gateway: Life[]; readonly bare: Life[] } = JSON.parse(printed.split('\n').at(-1) ?? '')
    return rowsOf({ sizeMb, addedMb, ...lives })
  } finally {
    removeFolder(folder)
  }
}

interface Measured {
  readonly sizeMb?: number
  readonly addedMb?: number
  readonly gateway?: readonly Life[]
  readonly bare?: readonly Life[]
  readonly note?: string
}

function rowsOf({ sizeMb, addedMb, gateway, bare, note }: Measured): Row[] {
  const of = (lives: readonly Life[] | undefined, field: keyof Life, divisor: number) =>
    lives === undefined ? undefined : median(lives.map((life) => life[field])) / divisor
  const row = (
    name: string,
    unit: Row['unit'],
    value: number | undefined,
    base: number | undefined,
    what: string,
  ): Row => ({
    name,
    unit,
    note,
    ...(value !== undefined && { measured: value }),
    ...(base !== undefined && { baseline: { what, value: base } }),
  })
  const base = sizeMb === undefined || addedMb === undefined ? undefined : sizeMb - addedMb
  return [
    row('size of the image', 'MB', sizeMb, base, 'its base with node and npm'),
    row('ready in a container', 's', of(gateway, 'readyMs', 1_000), of(bare, 'readyMs', 1_000), 'bare node there'),
    row('memory at rest in a container', 'MB', of(gateway, 'memoryMb', 1), of(bare, 'memoryMb', 1), 'bare node there'),
  ]
}
