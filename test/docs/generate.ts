/**
 * Writes the generated pages (`npm run docs`). A test checks that they are current.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatedPages } from './generated.ts'
import { root } from './repository.ts'

for (const { path, text } of await generatedPages()) await writeFile(join(root, path), text)
