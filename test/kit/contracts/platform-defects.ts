/**
 * Adapters with one defect each: for every promise of the platform contract one that breaks it.
 */
import { besideDefects } from './platform-defects/beside.ts'
import type { Defect } from './platform-defects/flaw.ts'
import { incomingDefects } from './platform-defects/incoming.ts'
import { lifeDefects } from './platform-defects/life.ts'
import { outgoingDefects } from './platform-defects/outgoing.ts'
import { troubleDefects } from './platform-defects/trouble.ts'

export type { Defect } from './platform-defects/flaw.ts'

export const defects: readonly Defect[] = [
  ...lifeDefects,
  ...incomingDefects,
  ...besideDefects,
  ...outgoingDefects,
  ...troubleDefects,
]
