terraform {
  required_version = ">= 1.5"
  required_providers {
    google-beta = {
      source  = "hashicorp/google-beta"
      version = ">= 6.0"
    }
  }
}

provider "google-beta" {
  project = var.project
  region  = var.region
}

resource "google_service_account" "worker" {
  provider     = google-beta
  account_id   = "gradebeam-worker"
  display_name = "GradeBeam workers"
}

resource "google_storage_bucket" "graded" {
  provider                    = google-beta
  name                        = "${var.project}-graded"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
}

resource "google_storage_bucket" "temporary" {
  provider                    = google-beta
  name                        = "${var.project}-gradebeam-tmp"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  lifecycle_rule {
    condition {
      age = 7
    }
    action {
      type = "Delete"
    }
  }
}

resource "google_project_iam_member" "worker" {
  provider = google-beta
  project  = var.project
  role     = "roles/dataflow.worker"
  member   = "serviceAccount:${google_service_account.worker.email}"
}

resource "google_project_iam_member" "image" {
  provider = google-beta
  project  = var.project
  role     = "roles/artifactregistry.reader"
  member   = "serviceAccount:${google_service_account.worker.email}"
}

resource "google_storage_bucket_iam_member" "logs" {
  provider = google-beta
  bucket   = var.logs_bucket
  role     = "roles/storage.objectViewer"
  member   = "serviceAccount:${google_service_account.worker.email}"
}

resource "google_storage_bucket_iam_member" "graded" {
  provider = google-beta
  bucket   = google_storage_bucket.graded.name
  role     = "roles/storage.objectAdmin"
  member   = "serviceAccount:${google_service_account.worker.email}"
}

resource "google_storage_bucket_iam_member" "temporary" {
  provider = google-beta
  bucket   = google_storage_bucket.temporary.name
  role     = "roles/storage.objectAdmin"
  member   = "serviceAccount:${google_service_account.worker.email}"
}

resource "google_dataflow_flex_template_job" "grade" {
  provider                = google-beta
  name                    = "gradebeam"
  region                  = var.region
  container_spec_gcs_path = var.template
  service_account_email   = google_service_account.worker.email
  temp_location           = "gs://${google_storage_bucket.temporary.name}/temp"
  staging_location        = "gs://${google_storage_bucket.temporary.name}/staging"
  machine_type            = var.machine_type
  max_workers             = var.max_workers
  on_delete               = "cancel"
  parameters = {
    suite               = var.suite
    input               = var.input
    output              = "gs://${google_storage_bucket.graded.name}/graded"
    sdk_container_image = var.image
  }
}

output "tables" {
  value = "gs://${google_storage_bucket.graded.name}/graded"
}
