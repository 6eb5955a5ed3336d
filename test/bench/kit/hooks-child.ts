/**
 * Discovers the hooks of a home once, as a start does, and prints the CPU time of the main thread, ms.
 */
import { registryOn } from './hook-registry.ts'

const [home = '', path = ''] = process.argv.slice(2)
const registry = registryOn({ home, path, python: undefined })
const before = process.threadCpuUsage()
registry.discoverAndLoad()
const { user, system } = process.threadCpuUsage(before)
// Writes the cache that the next start reads.
registry.watch()
process.stdout.write(String((user + system) / 1_000))
await registry.stop(0)
