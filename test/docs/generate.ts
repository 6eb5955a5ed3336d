/**
 * Writes the generated pages of `docs/reference`: `npm run docs`. A test compares them with what this would write.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatedPages } from './generated.ts'
import { root } from './repository.ts'

for (const { path, text } of await generatedPages()) await writeFile(join(root, path), text)
