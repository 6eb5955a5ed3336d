export function registerResolver(): void
