/**
 * How `npm start` runs the daemon. Tests and benchmarks that start it themselves use the same flags and settings.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'

const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
const { start } = z.object({ scripts: z.object({ start: z.string() }) }).parse(JSON.parse(text)).scripts

/** The V8 flags. Without them the daemon starts twice. */
export const daemonFlags: readonly string[] = start.match(/--\S+/g) ?? []

/** The settings of the memory allocator. They have the form `NAME=${NAME:-value}`. */
export const daemonAllocator: Readonly<Record<string, string>> = Object.fromEntries(
  [...start.matchAll(/(MALLOC_\w+)=\$\{\1:-(\d+)\}/g)].map(([, name, value]) => [name, value]),
)
